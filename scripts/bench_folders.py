#!/usr/bin/env python3
"""Writes session folders for `bench`: invented, but byte for byte in the way the programs write.

    bench_folders.py KIND FOLDER [--scale X]

The same kind and scale give the same bytes each time (the files' own times apart). `bench` runs
this as a process of its own, so that the memory which it takes here counts for nobody there.

KIND, at scale 1:
    many             10,000 sessions of about 25 KB
    plain            900 conversations, 300 MB; a third of them with an event log as 0.35 keeps it
                     (one checkpoint and what came after it)
    huge             3 sessions of 300 MB
    branching        20 sessions of about 13 MB with 20 backup branches each and an event log as 0.33
                     kept it (nothing is dropped, and the whole list again every 50 events)
    legacy           200 whole-file sessions of picoclaw, 100 MB: what its own migration imports
    lines            400 sessions of picoclaw as lines beside meta files, 100 MB
    pi, openclaw     400 trees of entries, 100 MB; openclaw with its list of sessions beside them
    codex            400 enveloped rollouts of Codex CLI, each event beside its item, 100 MB
    hermes           200 sidecars of the Hermes web UI with the journals of their turns and last runs, 100 MB
    claude           400 transcripts of Claude Code with subagents, 100 MB; half of it prompt snapshots that repeat
    gemini           400 patch logs of Gemini CLI, 100 MB: each tool call writes its message twice
    database         2,000 sessions in the state.db of the Hermes agent, 1 GB
    growth-1, -10    one session of 20,000 and of 200,000 messages
    tree-1, -10      one tree of pi with 5 and with 50 MB of entries
    sessions-1, -10  1,000 and 10,000 small sessions
"""

import argparse
import json
import random
import sqlite3
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

WORDS = (
    "the a to of and in is it that for on with as this be not are from or by at an have was but all can if when "
    "file test line value error parser session message branch commit index buffer record string number list path "
    "tide table harbour boat river bridge lamp garden letter paper window winter morning answer question reason "
    "reads writes fails returns checks keeps drops moves finds builds opens closes counts sorts splits merges"
).split()
NAMES = "load parse render fold split merge count check store fetch walk read write sort trim scan".split()
ODD = [
    "naïve café", "Größe", "„so“", "don’t", "a — b", "… and so on", "→ next", "✓ done", "├── src", "└── tests",
    "你好,世界", "船の名前", "Привет", "żółw", "∑ xᵢ ≤ n", "🚀", "👩‍💻 works", "⛵",
]  # fmt: skip
VERBS = "fixing writing sowing naming sorting drawing testing porting tuning reading".split()
ADJECTIVES = "brave gentle early calm quiet green tall swift small bright".split()
NOUNS = "otter finch robin lynx heron badger wren pike alder moss".split()
TOOLS = ["shell", "patch", "save", "ipython", "read"]
MODELS = ["anthropic/claude-sonnet-4-6", "openai/gpt-5", "local/m"]


class Texts:
    """Pieces of prose, code, output and arguments; a message is a handful of them."""

    def __init__(self, rng):
        makers = [self.prose] * 5 + [self.code] * 4 + [self.output] * 3 + [self.listing] * 2
        self.pieces = [rng.choice(makers)(rng) for _ in range(6000)]

    def prose(self, rng):
        words = rng.choices(WORDS, k=rng.randint(15, 60))
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words)), rng.choice(ODD))
        if rng.random() < 0.4:
            words.insert(rng.randrange(len(words)), f'"{rng.choice(WORDS)} {rng.choice(WORDS)}"')
        return " ".join(words).capitalize() + ".\n\n"

    def code(self, rng):
        lines = [f"def {rng.choice(NAMES)}_{rng.choice(WORDS)}(path, limit={rng.randint(1, 999)}):"]
        for _ in range(rng.randint(2, 12)):
            lines.append("    " * rng.randint(1, 3) + rng.choice([
                f"{rng.choice(WORDS)} = {rng.choice(NAMES)}(path)[{rng.randint(0, 99)}]",
                f'if {rng.choice(WORDS)} != "{rng.choice(WORDS)}":',
                f"return '{rng.choice(WORDS)}\\n' + str({rng.randint(0, 10**6)})",
                f'print(f"{{{rng.choice(WORDS)}:>8}}\\t{rng.choice(WORDS)}")',
                f"# {' '.join(rng.choices(WORDS, k=6))}",
                f're.sub(r"\\s+\\d{{2}}", "{rng.choice(WORDS)}", line)',
            ]))  # fmt: skip
        return "```python\n" + "\n".join(lines) + "\n```\n\n"

    def output(self, rng):
        lines = [
            f"tests/test_{rng.choice(WORDS)}.py::{rng.choice(NAMES)}\t{rng.choice(['PASSED', 'FAILED'])}  [{n:3}%]"
            for n in range(0, 100, rng.randint(9, 40))
        ]
        return "```stdout\n" + "\n".join(lines) + f"\n{len(lines)} in {rng.random() * 9:.2f}s\n```\n\n"

    def listing(self, rng):
        return "".join(
            f"-rw-r--r-- 1 user user {rng.randint(1, 10**6):>8} {rng.choice(WORDS)}_{rng.choice(WORDS)}.{rng.choice(['py', 'rs', 'md', 'toml'])}\n"
            for _ in range(rng.randint(2, 8))
        ) + "\n"

    def text(self, rng, size):
        """A text of about so many characters."""
        parts, length = [], 0
        while length < size:
            piece = rng.choice(self.pieces)
            parts.append(piece)
            length += len(piece)
        return "".join(parts)[: max(size, 1)]


class Writer:
    """One conversation as it grows: its messages as text, and its clock."""

    def __init__(self, texts, rng, median=950, spread=0.85):
        self.texts, self.rng, self.median, self.spread = texts, rng, median, spread
        self.clock = datetime(2026, 3, 2, 8) + timedelta(seconds=rng.randint(0, 200 * 86400), microseconds=rng.randrange(10**6))
        self.step = 0
        self.call = None
        # Newer versions note which model answered, after what it cost.
        self.is_newer = rng.random() < 0.5

    def now(self):
        self.clock += timedelta(seconds=self.rng.randint(1, 40), microseconds=self.rng.randrange(10**6))
        return self.clock.isoformat()

    def start(self):
        """What a conversation begins with, before anything is said."""
        texts, rng = self.texts, self.rng
        opening = {"role": "system", "content": "You are gptme.\n\n" + texts.text(rng, 6000), "timestamp": self.now(), "pinned": True, "hide": True}
        project = {"role": "system", "content": "# Workspace\n\n" + texts.text(rng, 1500), "timestamp": self.now(), "hide": True}
        return [json.dumps(opening), json.dumps(project)]

    def message(self):
        """The next message: a question, then calls and their results, then an answer."""
        rng = self.rng
        size = min(int(rng.lognormvariate(0, self.spread) * self.median), 200_000)
        place = self.step % 6
        self.step += 1
        if place == 0:
            return json.dumps({"role": "user", "content": self.texts.text(rng, size // 3 + 20), "timestamp": self.now()})
        content = self.texts.text(rng, size)
        if place in (2, 4):
            call, tool = self.call
            message = {"role": "system", "content": f"Ran command\n\n{content}", "timestamp": self.now(), "call_id": call, "metadata": {"tool": tool}}
            return json.dumps(message)
        tool_ms = round(rng.random() * 4000, 1)
        metadata = {
            "model": rng.choice(MODELS),
            "usage": {"input_tokens": rng.randint(500, 90000), "output_tokens": size // 4, "cache_read_tokens": rng.randint(0, 80000), "cache_creation_tokens": 0},
            "cost": round(rng.random() / 50, 6),
        }
        if self.is_newer:
            metadata["served_model"] = f"{metadata['model'].rpartition('/')[2]}-2026-02"
        metadata["timings"] = {"ttft_ms": round(rng.random() * 2000, 1), "gen_ms": round(rng.random() * 9000, 1)}
        if place in (1, 3):
            self.call = (f"call_{rng.getrandbits(48):012x}", rng.choice(TOOLS))
            arguments = json.dumps({"command": f"{rng.choice(NAMES)} --{rng.choice(WORDS)} \"{rng.choice(WORDS)}\""})
            content += f"\n\n@{self.call[1]}({self.call[0]}): {arguments}"
            metadata["timings"] |= {"tool_ms": tool_ms, "tool_ms_by_name": {self.call[1]: tool_ms}}
        return json.dumps({"role": "assistant", "content": content, "timestamp": self.now(), "metadata": metadata})


class EventLog:
    """An event log beside a conversation: every change, and a checkpoint each 50 events."""

    def __init__(self, writer, drops_old):
        self.writer, self.drops_old = writer, drops_old
        self.seq = 0
        self.lines = []

    def add(self, kind, payload, messages):
        self.line(kind, payload)
        if self.seq % 50 == 0:
            if self.drops_old:
                self.lines.clear()
            self.line("checkpoint", '{"messages": ' + whole(messages) + "}")

    def line(self, kind, payload):
        self.seq += 1
        at = (self.writer.clock + timedelta(milliseconds=7)).replace(tzinfo=timezone.utc).isoformat()
        self.lines.append(f'{{"seq": {self.seq}, "ts": "{at}", "type": "{kind}", "payload": {payload}}}')


def whole(messages):
    return "[" + ", ".join(messages) + "]"


def put(path, lines):
    with open(path, "w", encoding="ascii") as out:
        out.writelines(line + "\n" for line in lines)


def session_folder(root, rng, number):
    """A session's folder with all that gptme puts into it besides messages."""
    day = datetime(2026, 3, 2) + timedelta(days=rng.randint(0, 200))
    name = f"{day:%Y-%m-%d}-{rng.choice(VERBS)}-{rng.choice(ADJECTIVES)}-{rng.choice(NOUNS)}-{number}"
    folder = root / name
    (folder / "branches").mkdir(parents=True)
    (folder / ".lock").write_text(str(rng.randint(1000, 30000)))
    (folder / "workspace").symlink_to("/home/user/tide-table")
    (folder / "config.toml").write_text(
        f'[chat]\nname = "{" ".join(rng.choices(WORDS, k=5))}"\nmodel = "{rng.choice(MODELS)}"\ntools = ["shell", "patch"]\n'
        'tool_format = "tool"\nstream = true\ninteractive = true\nworkspace = "~/tide-table"\n\n[env]\n'
    )
    return folder


def conversation(root, rng, texts, number, size=None, messages=None, events=False):
    """One conversation of about so many bytes, or of so many messages."""
    folder = session_folder(root, rng, number)
    writer = Writer(texts, rng)
    lines = writer.start()
    log = EventLog(writer, drops_old=True) if events else None
    # One after the other into the file, where nothing needs them again.
    with open(folder / "conversation.jsonl", "w", encoding="ascii") as out:
        written = out.write("\n".join(lines) + "\n")
        count = len(lines)
        while (written < size) if size else (count < messages):
            line = writer.message()
            written += out.write(line + "\n")
            count += 1
            if log:
                lines.append(line)
                log.add("message_append", '{"message": ' + line + "}", lines)
    if log:
        put(folder / "events.jsonl", log.lines)
        (folder / ".events.jsonl.lock").touch()


def branching_session(root, rng, texts, number, length=400, backups=20):
    """A conversation that was edited and undone again and again."""
    folder = session_folder(root, rng, number)
    writer = Writer(texts, rng)
    messages = writer.start()
    log = EventLog(writer, drops_old=False)
    changes = sorted(rng.sample(range(20, length), backups))
    seen = {"undo": 0, "edit": 0}
    for step in range(length):
        if step in changes:
            kind = "edit" if rng.random() < 0.5 else "undo"
            put(folder / "branches" / f"main-{kind}-{seen[kind]}.jsonl", messages)
            seen[kind] += 1
            if kind == "undo":
                n = rng.randint(1, 4)
                messages = messages[:-n]
                log.add("undo", f'{{"n": {n}}}', messages)
            else:
                at = rng.randrange(2, len(messages))
                edited = json.loads(messages[at])
                edited["content"] = edited["content"][: rng.randint(20, 400)] + " (edited)"
                messages = messages[:at] + [json.dumps(edited)] + messages[at + 1 :]
                log.add("message_edit", '{"messages": ' + whole(messages) + "}", messages)
        line = writer.message()
        messages.append(line)
        log.add("message_append", '{"message": ' + line + "}", messages)
    put(folder / "conversation.jsonl", messages)
    put(folder / "events.jsonl", log.lines)


def go_json(value, indent=None):
    """As Go's encoder writes it: HTML characters escaped, other text as it is."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def picoclaw_messages(rng, texts, size, has_times):
    """Turns of picoclaw, with a tool call and its result in each, of about so many bytes."""
    clock = datetime(2026, 3, 2, tzinfo=timezone.utc) + timedelta(days=rng.randint(0, 100))
    messages, written = [], 0
    while written < size:
        call = f"call_{rng.getrandbits(48):012x}"
        arguments = go_json({"path": f"{rng.choice(WORDS)}/{rng.choice(NAMES)}.py"})
        function = {"name": rng.choice(TOOLS), "arguments": arguments}
        turn = [
            {"role": "user", "content": texts.text(rng, 200)},
            {"role": "assistant", "content": "", "tool_calls": [{"id": call, "type": "function", "function": function}]},
            {"role": "tool", "content": texts.text(rng, 1500), "tool_call_id": call},
            {"role": "assistant", "content": texts.text(rng, 700)},
        ]
        for message in turn:
            clock += timedelta(microseconds=rng.randint(1, 10**7))
            if has_times:
                rest = {key: value for key, value in message.items() if key not in ("role", "content")}
                stamp = {"created_at": clock.isoformat().replace("+00:00", "Z")}
                message = {"role": message["role"], "content": message["content"], **stamp, **rest}
            messages.append(message)
            written += len(message["content"]) + 120
    return messages


def picoclaw_session(root, rng, texts, number, size, whole):
    key, at = f"agent:main:telegram:direct:{number}", "2026-06-13T18:19:35.12+08:00"
    base = root / key.replace(":", "_")
    messages = picoclaw_messages(rng, texts, size, has_times=not whole)
    if whole:
        session = {"key": key, "messages": messages, "summary": texts.text(rng, 300), "created": at, "updated": at}
        base.with_suffix(".json").write_text(go_json(session, 2), encoding="utf-8")
        return
    meta = {"key": key, "summary": "", "skip": 0, "count": len(messages), "created_at": at, "updated_at": at}
    base.with_suffix(".jsonl").write_text("".join(go_json(message) + "\n" for message in messages), encoding="utf-8")
    base.with_suffix(".meta.json").write_text(go_json(meta, 2), encoding="utf-8")


def js(value):
    """As JavaScript writes it, and Python where it is told to."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def hex_id(rng, digits):
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


class Tree:
    """A session of pi or of OpenClaw: entries below each other, now and then a branch."""

    def __init__(self, rng, program):
        self.rng, self.ids, self.lines = rng, [], []
        self.clock = datetime(2026, 3, 2, 8, tzinfo=timezone.utc) + timedelta(seconds=rng.randint(0, 200 * 86400))
        self.id = f"{hex_id(rng, 8)}-{hex_id(rng, 4)}-7{hex_id(rng, 3)}-8{hex_id(rng, 3)}-{hex_id(rng, 12)}"
        self.began = self.now()
        cwd = "/home/user/tide-table" if program == "pi" else "/home/user/.openclaw/workspace"
        self.lines.append(js({"type": "session", "version": 3, "id": self.id, "timestamp": self.began, "cwd": cwd}))
        self.entry("model_change", {"provider": "local", "modelId": "m"})
        self.entry("thinking_level_change", {"thinkingLevel": "off"})

    def now(self):
        self.clock += timedelta(milliseconds=self.rng.randint(1, 40_000))
        return self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def entry(self, kind, rest, parent=-1):
        entry = {"type": kind, "id": hex_id(self.rng, 8), "parentId": self.ids[parent] if self.ids else None, "timestamp": self.now()}
        self.ids.append(entry["id"])
        self.lines.append(js(entry | rest))

    def message(self, role, content, rest=None, parent=-1):
        self.clock += timedelta(milliseconds=1)
        stamp = {"timestamp": int(self.clock.timestamp() * 1000)}
        self.entry("message", {"message": {"role": role, "content": content, **(rest or {}), **stamp}}, parent)

    def turn(self, texts):
        rng = self.rng
        parent = -rng.randint(2, 6) if rng.random() < 0.03 and len(self.ids) > 12 else -1
        self.message("user", [{"type": "text", "text": texts.text(rng, 200)}], parent=parent)
        call, tool = f"call_{hex_id(rng, 12)}", rng.choice(TOOLS)
        arguments = {"path": f"{rng.choice(WORDS)}/{rng.choice(NAMES)}.py", "limit": rng.randint(1, 999)}
        self.message("assistant", [{"type": "toolCall", "id": call, "name": tool, "arguments": arguments}], self.answer("toolUse"))
        result = {"toolCallId": call, "toolName": tool}
        content = [{"type": "text", "text": texts.text(rng, 1500)}]
        self.clock += timedelta(milliseconds=1)
        stamp = int(self.clock.timestamp() * 1000)
        self.entry("message", {"message": {"role": "toolResult", **result, "content": content, "isError": False, "timestamp": stamp}})
        self.message("assistant", [{"type": "text", "text": texts.text(rng, 700)}], self.answer("stop"))

    def answer(self, reason):
        counts = {"input": self.rng.randint(100, 9000), "output": self.rng.randint(10, 900), "cacheRead": 0, "cacheWrite": 0}
        cost = {"input": 0.00036, "output": 0.0015, "cacheRead": 0, "cacheWrite": 0, "total": 0.00186}
        usage = counts | {"totalTokens": counts["input"] + counts["output"], "cost": cost}
        return {"api": "openai-completions", "provider": "local", "model": "m", "usage": usage, "stopReason": reason}


def tree_sessions(root, rng, texts, program, count, size):
    store = {}
    for number in range(count):
        tree = Tree(rng, program)
        written = 0
        while written < size:
            before = len(tree.lines)
            tree.turn(texts)
            written += sum(len(line) for line in tree.lines[before:])
        stamp = tree.began.replace(":", "-").replace(".", "-")
        name = f"{stamp}_{tree.id}.jsonl" if program == "pi" else f"{tree.id}.jsonl"
        (root / name).write_text("\n".join(tree.lines) + "\n", encoding="utf-8")
        file = f"/home/user/.openclaw/agents/main/sessions/{name}"
        store[f"agent:main:direct:{number}"] = {"sessionId": tree.id, "updatedAt": int(tree.clock.timestamp() * 1000), "sessionFile": file}
    if program == "openclaw":
        (root / "sessions.json").write_text(json.dumps(store, indent=2), encoding="utf-8")


def codex_session(root, rng, texts, number, size):
    """One rollout as 0.144 keeps it."""
    clock = datetime(2026, 3, 1, 8, tzinfo=timezone.utc) + timedelta(minutes=11 * number)
    thread = f"{hex_id(rng, 8)}-{hex_id(rng, 4)}-7{hex_id(rng, 3)}-8{hex_id(rng, 3)}-{hex_id(rng, 12)}"
    lines, written, turn = [], 0, 0

    def add(kind, payload):
        nonlocal clock, written
        clock += timedelta(milliseconds=rng.randint(1, 4000))
        stamp = clock.strftime("%Y-%m-%dT%H:%M:%S.") + f"{clock.microsecond // 1000:03d}Z"
        lines.append(js({"timestamp": stamp, "type": kind, "payload": payload}))
        written += len(lines[-1])

    def message(role, text):
        part = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}

    began = clock.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    about = {"id": thread, "timestamp": began, "cwd": "/home/user/tide-table", "originator": "codex_cli_rs", "cli_version": "0.144.6"}
    add("session_meta", {**about, "source": "cli", "model_provider": "openai", "history_mode": "legacy"})
    while written < size:
        turn += 1
        prompt, answer = texts.text(rng, 300), texts.text(rng, 1500)
        add("event_msg", {"type": "task_started", "turn_id": f"t{turn}", "model_context_window": 258400})
        add("response_item", message("user", prompt))
        add("event_msg", {"type": "user_message", "message": prompt, "images": [], "local_images": [], "text_elements": []})
        for n in range(rng.randint(0, 3)):
            call = f"call_{turn}_{n}"
            add("response_item", {"type": "function_call", "name": "shell", "arguments": js({"command": ["ls", texts.text(rng, 30)]}), "call_id": call})
            add("response_item", {"type": "function_call_output", "call_id": call, "output": texts.text(rng, 900)})
        add("event_msg", {"type": "agent_message", "message": answer})
        add("response_item", message("assistant", answer))
        add("event_msg", {"type": "task_complete", "turn_id": f"t{turn}", "last_agent_message": answer})
    folder = root / "sessions" / clock.strftime("%Y/%m/%d")
    folder.mkdir(parents=True, exist_ok=True)
    name = f"rollout-{began[:10]}T{began[11:19].replace(':', '-')}-{thread}.jsonl"
    (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def hermes_session(root, rng, texts, size):
    """A sidecar, the journal of its turns, and those of its last two runs."""
    session, clock = hex_id(rng, 12), 1788200000.125
    frame = {"session_id": session, "title": "The tide table", "workspace": "/srv/tides", "model": "m", "model_provider": "local"}
    messages, turns, runs, written = [], [], [], 0
    while written < size:
        clock += rng.randint(2, 400) * 0.25
        stream, turn = hex_id(rng, 32), f"20260831T{len(turns) % 240000:06}Z-{hex_id(rng, 12)}"
        at, ids = clock, {"stream_id": stream, "turn_id": turn, "version": 1, "session_id": session}
        question, thought, answer = texts.text(rng, 200), texts.text(rng, 400), texts.text(rng, 1500)
        messages.append({"role": "user", "content": question, "_db_persisted": True, "timestamp": at, "id": len(messages) + 1})
        index = len(messages)
        messages.append({"role": "assistant", "content": answer, "reasoning": thought, "finish_reason": "stop", "_db_persisted": True,
                         "id": index + 1, "timestamp": at + 1.5, "_turnDuration": 1.25, "_usedModel": "m"})  # fmt: skip
        asked = {"role": "user", "content": question, "attachments": [], "workspace": "/srv/tides", "model": "m", "model_provider": "local"}
        turns.append({"event": "submitted", "stream_id": stream, **asked, "created_at": at, "version": 1, "session_id": session, "turn_id": turn})
        turns.append({"event": "worker_started", "created_at": at + 0.5, **ids})
        turns.append({"event": "completed", "created_at": at + 1.5, "assistant_message_index": index, **ids, "terminal": True})
        runs = [*runs[-1:], (stream, at, answer, len(messages))]
        # What a turn takes in the three files.
        written += 2 * len(question) + len(thought) + len(answer) + 1400
    rest = {"created_at": 1788200000.125, "updated_at": clock, "pinned": False, "archived": False, "message_count": len(messages)}
    (root / f"{session}.json").write_text(json.dumps(frame | rest | {"messages": messages, "tool_calls": []}, ensure_ascii=False, indent=2), encoding="utf-8")
    journal = root / "_turn_journal" / f"{session}~1.jsonl"
    journal.parent.mkdir(exist_ok=True)
    journal.write_text("".join(js(turn) + "\n" for turn in turns), encoding="utf-8")
    for stream, at, answer, count in runs:
        pieces = [answer[from_:from_ + 24] for from_ in range(0, len(answer), 24)]
        events = [("token", None, {"text": piece}) for piece in pieces]
        done = {"session": {"session_id": session, "title": frame["title"], "message_count": count, "messages": messages[:count], "tool_calls": []}}
        events += [("done", "completed", done), ("stream_end", "completed", {"session_id": session})]
        lines = [
            js({"version": 1, "event_id": f"{stream}:{n}", "seq": n, "run_id": stream, "session_id": session, "event": event, "type": event,
                "created_at": at + n / 64, "terminal": state is not None, "terminal_state": state, "payload": payload})
            for n, (event, state, payload) in enumerate(events, 1)
        ]  # fmt: skip
        run = root / "_run_journal" / session / f"{stream}.jsonl"
        run.parent.mkdir(parents=True, exist_ok=True)
        run.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


DATABASE = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, started_at REAL NOT NULL, ended_at REAL, cwd TEXT, title TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
INSERT INTO schema_version VALUES (22);
"""


def database(root, rng, texts, count, size):
    """Sessions of about so many bytes each, whose messages are added in turns, as a gateway does that serves several people."""
    connection = sqlite3.connect(root / "state.db")
    connection.executescript("PRAGMA page_size = 4096;" + DATABASE)
    add = "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    clock = 1788200000.125
    for first in range(0, count, 8):
        ids = [f"20260831_{number:06}_{hex_id(rng, 8)}" for number in range(first, min(first + 8, count))]
        for session in ids:
            connection.execute("INSERT INTO sessions VALUES (?, 'cli', 'm', ?, NULL, '/srv/tides', 'The tide table')", (session, clock))
        written = 0
        while written < size:
            for session in ids:
                clock += rng.randint(1, 400) * 0.25
                call, question, output, answer = f"call_{hex_id(rng, 12)}", texts.text(rng, 200), texts.text(rng, 900), texts.text(rng, 1500)
                calls = js([{"id": call, "type": "function", "function": {"name": "terminal", "arguments": js({"command": rng.choice(NAMES)})}}])
                connection.executemany(add, [
                    (session, "user", question, None, None, None, clock, None),
                    (session, "assistant", "", None, calls, None, clock + 0.25, "tool_calls"),
                    (session, "tool", output, call, None, "terminal", clock + 0.5, None),
                    (session, "assistant", answer, None, None, None, clock + 0.75, "stop"),
                ])  # fmt: skip
            written += len(question) + len(output) + len(answer) + len(calls) + 400
        connection.commit()
    connection.close()


def uuid(rng):
    return f"{hex_id(rng, 8)}-{hex_id(rng, 4)}-4{hex_id(rng, 3)}-8{hex_id(rng, 3)}-{hex_id(rng, 12)}"


def put_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


class Transcript:
    """A session of Claude Code: records below each other, now and then a rewind, and state lines."""

    def __init__(self, rng, session, agent=None):
        self.rng, self.ids, self.lines = rng, [], []
        self.session, self.agent, self.written = session, agent, 0
        self.clock = datetime(2026, 11, 2, 8, tzinfo=timezone.utc) + timedelta(seconds=rng.randint(0, 14 * 86400))

    def line(self, value):
        self.lines.append(js(value))
        self.written += len(self.lines[-1]) + 1

    def record(self, own, before=None, parent=-1):
        self.clock += timedelta(milliseconds=self.rng.randint(1, 40_000))
        stamp = self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        own = {key: {"uuid": uuid(self.rng), "timestamp": stamp}.get(key, value) for key, value in own.items()}
        frame = {"parentUuid": self.ids[parent] if self.ids else None, "isSidechain": self.agent is not None, **(before or {})}
        frame |= {"agentId": self.agent} if self.agent else {}
        rest = {"userType": "external", "entrypoint": "cli", "cwd": "/home/user/tide-table", "sessionId": self.session, "version": "2.1.326",
                "gitBranch": "main"}  # fmt: skip
        self.ids.append(own["uuid"])
        self.line(frame | own | rest)

    def user(self, content, rest=None, parent=-1):
        own = {"type": "user", "message": {"role": "user", "content": content}, "uuid": None, "timestamp": None, **(rest or {})}
        self.record(own, {"promptId": uuid(self.rng)}, parent)

    def answer(self, content, reason, message):
        usage = {"input_tokens": self.rng.randint(100, 9000), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "output_tokens": self.rng.randint(10, 900)}  # fmt: skip
        said = {"id": message, "type": "message", "role": "assistant", "model": "m", "content": [content], "stop_reason": reason,
                "stop_sequence": None, "usage": usage}  # fmt: skip
        self.record({"message": said, "requestId": f"req_{hex_id(self.rng, 20)}", "type": "assistant", "uuid": None, "timestamp": None})

    def turn(self, texts):
        rng = self.rng
        parent = -rng.randint(2, 6) if rng.random() < 0.03 and len(self.ids) > 12 else -1
        self.user(texts.text(rng, 200), parent=parent)
        message, call = f"msg_{hex_id(rng, 20)}", f"toolu_{hex_id(rng, 20)}"
        command = f"{rng.choice(NAMES)} {rng.choice(WORDS)}.py"
        self.answer({"type": "text", "text": texts.text(rng, 200)}, "tool_use", message)
        self.answer({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}, "tool_use", message)
        output = texts.text(rng, 1200)
        result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        self.user([{"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}], {"toolUseResult": result})
        self.answer({"type": "text", "text": texts.text(rng, 700)}, "end_turn", f"msg_{hex_id(rng, 20)}")

    def snapshot(self, prompt):
        attachment = {"type": "prompt_snapshot", "systemPrompt": prompt, "tools": []}
        self.record({"attachment": attachment, "type": "attachment", "uuid": None, "timestamp": None})


def claude_sessions(root, rng, texts, count, size):
    prompts = [texts.text(rng, 40_000) for _ in range(3)]
    project = root / "projects" / "-home-user-tide-table"
    for number in range(count):
        session = uuid(rng)
        main = Transcript(rng, session)
        main.line({"type": "mode", "mode": "normal", "sessionId": session})
        said, next_snapshot = 0, 0
        while main.written < size:
            if said >= next_snapshot:
                main.snapshot(prompts[number % 3])
                next_snapshot += 40_000
            before = main.written
            main.turn(texts)
            said += main.written - before
        main.line({"type": "last-prompt", "lastPrompt": "go on", "leafUuid": main.ids[-1], "sessionId": session})
        put_lines(project / f"{session}.jsonl", main.lines)
        if number % 4 == 0:
            agent = Transcript(rng, session, f"a{hex_id(rng, 16)}")
            for _ in range(4):
                agent.turn(texts)
            put_lines(project / session / "subagents" / f"agent-{agent.agent}.jsonl", agent.lines)


def gemini_session(root, rng, texts, size):
    """A patch log: messages, what changed after each, and now and then the whole list again."""
    session, clock = uuid(rng), datetime(2026, 11, 2, 8, tzinfo=timezone.utc) + timedelta(seconds=rng.randint(0, 14 * 86400))
    began = clock
    lines, messages, written = [], [], 0

    def now():
        nonlocal clock
        clock += timedelta(milliseconds=rng.randint(1, 40_000))
        return clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def line(value):
        nonlocal written
        lines.append(js(value))
        written += len(lines[-1]) + 1

    def message(kind, rest):
        return {"id": uuid(rng), "timestamp": now(), "type": kind, **rest}

    stamp = now()
    line({"sessionId": session, "projectHash": "0" * 64, "startTime": stamp, "lastUpdated": stamp, "kind": "main"})
    while written < size:
        asked = message("user", {"content": [{"text": texts.text(rng, 200)}]})
        tokens = {"input": rng.randint(100, 9000), "output": rng.randint(10, 900), "cached": 0, "thoughts": 0, "tool": 0}
        tokens["total"] = tokens["input"] + tokens["output"]
        said = message("gemini", {"content": "", "thoughts": [], "tokens": tokens, "model": "m"})
        name, call = rng.choice(NAMES), f"{rng.choice(NAMES)}__{len(messages)}"
        output = {"functionResponse": {"id": call, "name": name, "response": {"output": texts.text(rng, 1200)}}}
        called = {"id": call, "name": name, "args": {"path": f"{rng.choice(WORDS)}.py"}, "result": [output], "status": "success",
                  "timestamp": now(), "resultDisplay": "done", "description": name, "displayName": name, "renderOutputAsMarkdown": True}  # fmt: skip
        answer = message("gemini", {"content": texts.text(rng, 700), "thoughts": [], "tokens": tokens, "model": "m"})
        for one in (asked, said, said | {"toolCalls": [called]}, message("user", {"content": [output]}), answer):
            messages = [*messages[:-1], one] if messages and messages[-1]["id"] == one["id"] else [*messages, one]
            line(one)
            if "toolCalls" not in one:
                line({"$set": {"lastUpdated": now()}})
        if rng.random() < 0.005:
            line({"$set": {"messages": messages, "lastUpdated": now()}})
    put_lines(root / "chats" / f"session-{began:%Y-%m-%dT%H-%M}-{session[:8]}.jsonl", lines)


def make(kind, root, scale):
    rng = random.Random(f"everlog {kind}")
    texts = Texts(rng)
    root.mkdir(parents=True, exist_ok=True)
    if kind in ("many", "sessions-1", "sessions-10"):
        count = {"many": 10_000, "sessions-1": 1_000, "sessions-10": 10_000}[kind]
        for number in range(max(int(count * scale), 1)):
            conversation(root, rng, texts, number, size=int(25_000 * rng.uniform(0.5, 1.4)))
    elif kind == "plain":
        sizes = [rng.lognormvariate(0, 0.9) for _ in range(max(int(900 * scale), 3))]
        # Event logs, where there are any, are about as large as their transcripts.
        share = 300_000_000 * scale / (sum(sizes) + sum(sizes[::3]))
        for number, size in enumerate(sizes):
            conversation(root, rng, texts, number, size=int(size * share), events=number % 3 == 0)
    elif kind == "huge":
        for number in range(3):
            conversation(root, rng, texts, number, size=int(300_000_000 * scale))
    elif kind == "branching":
        for number in range(max(int(20 * scale), 1)):
            branching_session(root, rng, texts, number)
    elif kind in ("legacy", "lines"):
        count = {"legacy": 200, "lines": 400}[kind]
        for number in range(max(int(count * scale), 1)):
            picoclaw_session(root, rng, texts, number, 100_000_000 // count, whole=kind == "legacy")
    elif kind in ("pi", "openclaw"):
        tree_sessions(root, rng, texts, kind, max(int(400 * scale), 1), 100_000_000 // 400)
    elif kind == "codex":
        for number in range(max(int(400 * scale), 1)):
            codex_session(root, rng, texts, number, 100_000_000 // 400)
    elif kind == "hermes":
        # The last runs say everything once more.
        for _ in range(max(int(200 * scale), 1)):
            hermes_session(root, rng, texts, 100_000_000 // 200 * 2 // 5)
    elif kind == "claude":
        claude_sessions(root, rng, texts, max(int(400 * scale), 1), 100_000_000 // 400)
    elif kind == "gemini":
        for _ in range(max(int(400 * scale), 1)):
            gemini_session(root, rng, texts, 100_000_000 // 400)
    elif kind == "database":
        database(root, rng, texts, max(int(2_000 * scale), 1), 500_000)
    elif kind in ("growth-1", "growth-10"):
        messages = max(int(20_000 * scale), 10) * (10 if kind == "growth-10" else 1)
        conversation(root, rng, texts, 0, messages=messages)
    elif kind in ("tree-1", "tree-10"):
        tree_sessions(root, rng, texts, "pi", 1, max(int(5_000_000 * scale), 1) * (10 if kind == "tree-10" else 1))
    else:
        sys.exit(f"bench_folders: no folder is called {kind}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kind")
    options.add_argument("folder", type=Path)
    options.add_argument("--scale", type=float, default=1.0)
    asked = options.parse_args()
    make(asked.kind, asked.folder, asked.scale)
