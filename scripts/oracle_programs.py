"""The programs that everlog exports to or converts from: how each is asked to load sessions, and to go on with one.

Each gets an empty home of its own, an environment with nothing of the user's in it, and a proxy that leads nowhere:
what a program would send anywhere but to the model on the loopback interface does not leave the machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oracle_install import CannotRun

HERE = Path(__file__).parent / "oracle_programs"
# After its request a program may have others under way that carry the history.
LINGER = 1.5


def clean(home, **more):
    nowhere = "http://127.0.0.1:9"
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8", "CI": "1", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    env |= {name: nowhere for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")}
    return {name: str(value) for name, value in {**env, **more}.items()}


def output_of(words, env, cwd, seconds=300):
    try:
        done = subprocess.run([str(w) for w in words], env=env, cwd=cwd, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(str(error)) from error
    rows = [json.loads(line[2:]) for line in done.stdout.decode("utf-8", "replace").split("\n") if line.startswith("@@")]
    if not rows and done.returncode:
        raise CannotRun("the loader ended with " + " ".join(done.stderr.decode("utf-8", "replace").split())[-400:])
    return rows


def go_on(words, env, cwd, model, prompt, seconds=120):
    """Runs a program until it has asked the model; returns the request, or what it said instead."""
    began, asked_at = time.monotonic(), None
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(w) for w in words], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        try:
            while process.poll() is None and time.monotonic() - began < seconds:
                if asked_at is None and model.asked(prompt):
                    asked_at = time.monotonic()
                if asked_at is not None and time.monotonic() - asked_at > LINGER:
                    break
                time.sleep(0.05)
        finally:
            end(process)
        asked = model.asked(prompt)
        if asked:
            return asked[0], None
        said.seek(0)
        return None, " ".join(said.read().decode("utf-8", "replace").split())[-400:] or "it sent no request"


def go_on_together(words, env, cwd, model, sessions, seconds=60):
    """Lets one start of a program go on with many sessions: each line that it prints says how one of them ended. Of a
    session that it never came to, because another one ended it, there is neither a request nor a word."""
    words = [str(word) for word in words]
    process = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    jobs = "".join(json.dumps({"session": session, "prompt": prompt}) + "\n" for session, prompt in sessions)
    try:
        out, _ = process.communicate(jobs.encode(), timeout=120 + seconds * len(sessions))
    except subprocess.TimeoutExpired:
        end(process)
        out, _ = process.communicate()
    rows = [json.loads(line[2:]) for line in out.decode("utf-8", "replace").split("\n") if line.startswith("@@")]
    said = {row["session"]: row["error"] for row in rows}
    for session, prompt in sessions:
        asked = model.asked(prompt)
        yield (asked[0], None) if asked else (None, said.get(session))


def end(process):
    """Ends a program that this script has started, and its children."""
    if process.poll() is None:
        for kill in (15, 9):
            try:
                os.killpg(process.pid, kill)
                process.wait(5)
                return
            except (ProcessLookupError, PermissionError):
                return
            except subprocess.TimeoutExpired:
                continue


class Program:
    """What is common: a folder that stands for the one that the program keeps its sessions in, and a home."""

    package = None
    # Whether it has a loader that can be called, and one start of it goes on with many sessions.
    loads, together = False, False

    def __init__(self, programs, work, model):
        self.programs, self.model = programs, model
        self.home, self.sessions, self.cwd = work / "home", work / "home" / self.place, work / "project"
        for folder in (self.home, self.sessions, self.cwd):
            folder.mkdir(parents=True, exist_ok=True)

    def providers(self):
        model = {"id": "fake-1", "name": "fake-1", "reasoning": True, "input": ["text", "image"], "contextWindow": 1000000, "maxTokens": 4096, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        interfaces = {"openai-like": ("openai-completions", "/v1"), "anthropic-like": ("anthropic-messages", "")}
        return {name: {"baseUrl": self.model.url + end, "apiKey": "x", "api": api, "models": [model]} for name, (api, end) in interfaces.items()}

    def proceed(self, rows, interface):
        """For each exported session the request with which the program goes on, or what it said instead."""
        if self.together:
            sessions = [(self.session(row), self.model.prompt()) for row in rows]
            answers = list(self.proceed_together(sessions, interface)) if sessions else []
        else:
            answers = [(None, None)] * len(rows)
        for row, (request, problem) in zip(rows, answers):
            # Alone, where it is, and where the program did not come to it.
            yield (request, problem) if request or problem else self.proceed_alone(row, interface)

    def proceed_alone(self, row, interface):
        if self.together:
            return next(iter(self.proceed_together([(self.session(row), self.model.prompt())], interface)), None) or (None, "it sent no request")
        prompt = self.model.prompt()
        try:
            words, env = self.words(row, interface, prompt)
        except StopIteration:
            return None, "the export has no main file"
        return go_on(words, env, self.cwd, self.model, prompt)


class Gptme(Program):
    package, place, loads, together = "gptme", "logs", True, True
    interfaces = {
        "openai": ({"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "x"}, "local/fake-1"),
        "anthropic": ({"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "x"}, "anthropic/claude-sonnet-4-5"),
    }

    def env(self, **more):
        config = self.home / ".config" / "gptme"
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text('[user]\nname = "U"\n[prompt]\nabout_user = ""\nresponse_preference = ""\n[env]\n')
        return clean(self.home, GPTME_LOGS_HOME=self.sessions, GPTME_TELEMETRY="false", **more)

    def load(self, folder):
        env = {**self.env(), "GPTME_LOGS_HOME": str(folder)}
        return output_of([self.programs.python("gptme"), HERE / "gptme_load.py", folder], env, self.home)

    def session(self, row):
        return row["session"]

    def proceed_together(self, sessions, interface):
        more, model = self.interfaces[interface]
        more = {name: value.format(url=self.model.url) for name, value in more.items()}
        words = [self.programs.python("gptme"), HERE / "gptme_run.py", model, self.cwd]
        return go_on_together(words, self.env(**more), self.cwd, self.model, sessions)


class Pi(Program):
    package, place, loads = "@earendil-works/pi-coding-agent", ".pi/agent/sessions", True
    interfaces = {"openai": "openai-like", "anthropic": "anthropic-like"}

    def bundle(self):
        return self.programs.folder(self.package) / "dist" / "bundle"

    def load(self, folder):
        return output_of([self.programs.node(), HERE / "pi_load.mjs", folder, self.bundle() / "index.js"], clean(self.home, PI_OFFLINE="1"), self.home)

    def words(self, row, interface, prompt):
        (self.home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": self.providers()}))
        file = self.sessions / row["files"][0]
        words = [self.programs.node(), self.bundle() / "cli.js", "--offline", "--session-dir", file.parent, "--session", file, "--provider", self.interfaces[interface], "--model", "fake-1", "-ne", "-ns", "-nc", "-p", prompt]
        return words, clean(self.home, PI_OFFLINE="1")


class OpenClaw(Program):
    package, place, loads, together = "openclaw-files", "state/agents", True, True
    interfaces = {"openai": "openai-like", "anthropic": "anthropic-like"}

    def dist(self):
        return self.programs.folder(self.package) / "dist"

    def env(self):
        state = self.sessions.parent
        config = {
            "agents": {"defaults": {"workspace": str(self.cwd), "skipBootstrap": True, "model": {"primary": "openai-like/fake-1"}}},
            "gateway": {"mode": "local"},
            "models": {"mode": "replace", "providers": self.providers()},
        }
        (state / "openclaw.json").write_text(json.dumps(config))
        return clean(self.home, OPENCLAW_STATE_DIR=state, OPENCLAW_TRAJECTORY="0")

    def load(self, folder):
        return output_of([self.programs.node(), HERE / "openclaw_load.mjs", folder, self.dist()], self.env(), self.home)

    def session(self, row):
        return Path(row["files"][0]).stem

    def proceed_together(self, sessions, interface):
        words = [self.programs.node(), HERE / "openclaw_run.mjs", self.dist(), self.interfaces[interface] + "/fake-1"]
        return go_on_together(words, self.env(), self.cwd, self.model, sessions)


class OpenClawDatabase(Program):
    """The releases that keep sessions in a database: nothing is exported to them."""

    package, place, loads = "openclaw", "state", True
    interfaces = {}

    def load(self, folder):
        dist = self.programs.folder(self.package) / "dist"
        return output_of([self.programs.node(), HERE / "openclaw_database_load.mjs", folder, dist], clean(self.home, OPENCLAW_STATE_DIR=folder), self.home)


class OpenCode(Program):
    """Its database is read only: nothing is exported to it."""

    package, place, loads = "opencode-ai", ".local/share/opencode", True
    interfaces = {}

    def load(self, folder):
        """Its server is asked, which it is over the network alone: one for each database."""
        program = self.programs.binary(self.package, "bin/opencode", "opencode")
        for file in sorted(folder.rglob("opencode*.db")):
            for own in file.parent.glob(file.name + "*"):
                shutil.copy(own, self.sessions / own.name.replace(file.name, "opencode.db"))
            env = clean(self.home, OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1")
            yield from output_of([sys.executable, HERE / "opencode_load.py", program, file.relative_to(folder), self.sessions / "opencode.db"], env, self.cwd)


class ClaudeCode(Program):
    package, place, loads = "@anthropic-ai/claude-code", ".claude", True
    interfaces = {"anthropic": None}

    def load(self, folder):
        sdk = self.programs.folder("@anthropic-ai/claude-agent-sdk") / "sdk.mjs"
        env = clean(self.home, CLAUDE_CONFIG_DIR=folder)
        return output_of([self.programs.node(), HERE / "claude_code_load.mjs", folder, sdk], env, self.home)

    def words(self, row, interface, prompt):
        env = clean(
            self.home, ANTHROPIC_BASE_URL=self.model.url, ANTHROPIC_API_KEY="x", CLAUDE_CONFIG_DIR=self.sessions,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1", DISABLE_ERROR_REPORTING="1",
        )
        main = next(name for name in row["files"] if name.endswith(".jsonl"))
        words = [self.programs.binary(self.package, "claude"), "--resume", Path(main).stem, "-p", prompt]
        return words, env


class Codex(Program):
    package, place = "@openai/codex", ".codex"
    interfaces = {"responses": None}

    def words(self, row, interface, prompt):
        (self.sessions / "config.toml").write_text(
            'model = "fake-1"\nmodel_provider = "local"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
            f'[model_providers.local]\nname = "local"\nbase_url = "{self.model.url}/v1"\nwire_api = "responses"\nenv_key = "ORACLE_KEY"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n"
        )
        # The id is the end of the file's name: `rollout-<time>-<id>.jsonl`.
        main = next(name for name in row["files"] if name.endswith(".jsonl"))
        session = Path(main).stem[-36:]
        env = clean(self.home, CODEX_HOME=self.sessions, ORACLE_KEY="x")
        words = [self.programs.node(), self.programs.command(self.package, "codex"), "exec", "resume", "--skip-git-repo-check", session, prompt]
        return words, env


class GeminiCli(Program):
    package, place = "@google/gemini-cli", ".gemini"
    interfaces = {"gemini": None}

    def words(self, row, interface, prompt):
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}, "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}, "general": {"disableAutoUpdate": True}}
        (self.sessions / "settings.json").write_text(json.dumps(settings))
        env = clean(self.home, GEMINI_CLI_HOME=self.home, GEMINI_API_KEY="x", GOOGLE_GEMINI_BASE_URL=self.model.url, GEMINI_CLI_TRUST_WORKSPACE="true", GEMINI_CLI_NO_RELAUNCH="true")
        session = row["continue_with"].split()[-1]
        words = [self.programs.node(), self.programs.command(self.package, "gemini"), "--resume", session, "-m", "gemini-2.5-pro", "-p", prompt]
        return words, env


class HermesAgent(Program):
    """Its database is read only: nothing is exported to it."""

    package, place, loads = "hermes-agent", ".hermes", True
    interfaces = {}

    def load(self, folder):
        return output_of([self.programs.python("hermes-agent"), HERE / "hermes_load.py", folder], clean(self.home, HERMES_HOME=self.sessions), self.home)


# By the names of formats. A format that is in no package registry has no program here.
PROGRAMS = {"gptme": Gptme, "pi": Pi, "openclaw": OpenClaw, "claude-code": ClaudeCode, "codex": Codex, "gemini-cli": GeminiCli, "hermes-state-db": HermesAgent, "openclaw-sqlite": OpenClawDatabase, "opencode": OpenCode}


def invalid_trajectories(programs, folder, home):
    """Trajectories to which the models of their format object, with the reason."""
    return output_of([programs.python("atif"), HERE / "atif_load.py", folder], clean(home), home)


def fresh(kind, programs, work, model):
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return kind(programs, work, model)
