#!/usr/bin/env python3
"""Asks the questions of docs/src/howto/query.md, and compares the answers with what everlog says.

    questions.py --install                          puts DuckDB into a virtual environment in a cache
    questions.py --python                           prints that environment's interpreter; fails without one
    questions.py [--everlog BINARY] STORE WORK      asks DuckDB (files, whole and split) and SQLite

STORE may be any folder of logs; the tables are made below WORK. The expected answers are worked out in plain
Python from `everlog replay --json` and `everlog stats --json`.
"""

import argparse
import datetime
import json
import os
import re
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path

PINS = ["duckdb==2.0.0"]
TABLES = ["sessions", "messages", "tool_calls", "findings", "usage"]
PAGE = Path(__file__).resolve().parent.parent / "docs/src/howto/query.md"
# What SQLite has other words for; the page says so.
SQLITE = {
    "CAST(date_trunc('week', time) AS DATE)": "date(time, 'weekday 0', '-6 days')",
    "max(time) - min(time)": "julianday(max(time)) - julianday(min(time))",
}
EPOCH = datetime.datetime(1970, 1, 1)


def environment(pins):
    """The folder of a virtual environment that has exactly these pins."""
    cache = os.environ.get("EVERLOG_CACHE") or Path.home() / ".cache/everlog"
    return Path(cache) / ("venv-" + "-".join(pins).replace("==", "-"))


def interpreter(pins):
    """Its interpreter, if it is whole; a file says so, because installing may be cut short."""
    folder = environment(pins)
    return folder / "bin/python" if (folder / "installed").exists() else None


def install(pins):
    folder = environment(pins)
    if not interpreter(pins):
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", *pins], check=True)
        (folder / "installed").touch()
    return interpreter(pins)


def questions():
    """The SQL of the page, by the word that each block begins with."""
    blocks = re.findall(r"```sql\n-- (\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5, f"{len(blocks)} questions in {PAGE}"
    return dict(blocks)


def lines(everlog, *words):
    done = subprocess.run([everlog, *map(str, words)], stdout=subprocess.PIPE, check=False)
    return [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]


def moment(time):
    """Microseconds since 1970 of a time in UTC."""
    if time is None:
        return None
    whole, _, fraction = time.rstrip("Z").partition(".")
    seconds = (datetime.datetime.fromisoformat(whole) - EPOCH) // datetime.timedelta(seconds=1)
    return seconds * 1_000_000 + int((fraction + "000000")[:6])


def utc(ts):
    """A time of a log in UTC, where its zone is known."""
    at = ts and datetime.datetime.fromisoformat(ts)
    return at.astimezone(datetime.timezone.utc) if at and at.tzinfo else None


def answers_of(path):
    """The answers in a log, on whatever branch; of several messages with one id the last one counts."""
    answers = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        payload = event["payload"]
        hidden = (payload.get("hidden") or {}).get("from") or []
        if event["type"] == "message" and payload.get("role") == "assistant" and "loader" not in hidden:
            answers[(payload.get("ext") or {}).get("id") or event["seq"]] = event
    return answers.values()


def expected(everlog, store):
    """The answers, in plain Python."""
    logs = sorted(path for path in Path(store).rglob("*.everlog.jsonl") if ".everlog" not in path.relative_to(store).parts[:-1])
    weeks, interrupted, turns, prompts = {}, [], [], []
    for path in logs:
        log = str(path.relative_to(store))
        for answer in answers_of(path):
            at = utc(answer.get("ts"))
            week = at and str(at.date() - datetime.timedelta(days=at.weekday()))
            sums = weeks.setdefault((week, answer["payload"].get("model")), [0, None, None])
            sums[0] += 1
            for n, member in ((1, "input"), (2, "output")):
                count = (answer["payload"].get("usage") or {}).get(member)
                if count is not None:
                    sums[n] = (sums[n] or 0) + count
        shown = lines(everlog, "replay", path, "--json")
        said = [message for message in shown if message["type"] == "message"]
        answered = {result["call_id"] for message in shown for result in message["tool_results"]}
        if said:
            last = said[-1]
            waits = any(call["id"] not in answered for call in last["tool_calls"])
            if last["role"] != "assistant" or last["stop_reason"] in ("aborted", "error", "max_tokens") or waits:
                interrupted.append((log, last["role"], last["stop_reason"], last["ts"]))
        own = []
        for message in shown:
            if message["type"] == "message" and message["role"] == "user":
                own.append([])
                if "test" in message["text"].lower():
                    prompts.append((log, message["seq"], message["ts"], message["text"]))
            if own:
                own[-1].append(message)
        for number, turn in enumerate(own, 1):
            times = [moment(message["time"]) for message in turn if message["time"]]
            stamps = [message["ts"] for message in turn if message["ts"]]
            took = max(times) - min(times) if times else None
            row = (log, number, len(turn), min(stamps, default=None), max(stamps, default=None))
            turns.append(((took is None, -(took or 0), log, number), row))
    counted = lines(everlog, "stats", store, "--json")
    tools = [(row["key"], row["calls"], row["failed_calls"]) for row in counted if row["by"] == "tool"]
    by_model = {row["key"]: row for row in counted if row["by"] == "model"}
    tokens = [(week, model, *sums) for (week, model), sums in weeks.items()]
    # `stats` knows no weeks, so its models are compared with all weeks together. An answer that names no model is
    # counted there for the model of its session, where the session has one.
    mine = {model: sum(sums[0] for (_, of), sums in weeks.items() if of == model) for _, model in weeks}
    assert sum(mine.values()) == sum(row["answers"] for row in by_model.values()), (mine, by_model)
    for model, answers in mine.items():
        counted_there = by_model[model]["answers"] if model in by_model else 0
        assert answers >= counted_there if model is None else answers <= counted_there, (model, answers, counted_there)
    return {
        "tokens": tokens,
        "tools": tools,
        "interrupted": interrupted,
        "turns": [row for _, row in sorted(turns)[:20]],
        "prompts": prompts,
    }


def plain(row):
    return tuple(str(value) if isinstance(value, datetime.date) else int(value) if isinstance(value, bool) else value for value in row)


def compare(engine, answers, wanted):
    """Says which answers are equal; returns whether all are. Engines sort nulls in their own ways."""
    order = lambda rows: sorted(map(plain, rows), key=repr)
    well = True
    for name, rows in answers.items():
        is_equal = order(rows) == order(wanted[name])
        well &= is_equal
        print(f"{engine}, {name}, {len(rows)} rows{': equal' if is_equal else ': DIFFERENT'}")
        if not is_equal:
            print("  only here:", [row for row in order(rows) if row not in order(wanted[name])][:5])
            print("  missing:", [row for row in order(wanted[name]) if row not in order(rows)][:5])
    assert all(wanted.values()), "a question without an answer tests nothing"
    return well


def export(everlog, store, work):
    """Makes the tables in every way; returns their places."""
    places = {"whole": [], "split": ["--partition-by", "month,format"]}
    for name, words in places.items():
        subprocess.run([everlog, "--quiet", "export", store, "--to", "parquet", "-o", Path(work) / name, *words], check=True)
    subprocess.run([everlog, "--quiet", "export", store, "--to", "sqlite", "-o", Path(work) / "all.sqlite"], check=True)
    return {name: Path(work) / name for name in places}


def ask_duckdb(tables):
    import duckdb

    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{tables}/{table}/**/*.parquet')")
    return {name: database.execute(sql).fetchall() for name, sql in questions().items()}


def ask_sqlite(file):
    database = sqlite3.connect(file)

    def words(sql):
        for theirs, own in SQLITE.items():
            sql = sql.replace(theirs, own)
        return sql

    return {name: database.execute(words(sql)).fetchall() for name, sql in questions().items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--install", action="store_true")
    options.add_argument("--python", action="store_true")
    options.add_argument("--everlog", default="everlog")
    options.add_argument("store", nargs="?")
    options.add_argument("work", nargs="?")
    given = options.parse_args()
    if given.install:
        return print(install(PINS))
    if given.python:
        return print(interpreter(PINS) or sys.exit("DuckDB is not installed: questions.py --install"))
    if not given.work:
        options.error("name a STORE, and a folder to WORK in")
    os.makedirs(given.work, exist_ok=True)
    wanted = expected(given.everlog, given.store)
    well = True
    for name, tables in export(given.everlog, given.store, given.work).items():
        well &= compare(f"DuckDB, {name}", ask_duckdb(tables), wanted)
    well &= compare("SQLite", ask_sqlite(Path(given.work) / "all.sqlite"), wanted)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
