"""The real programs, by name and version, in a cache: installed once, with the usual package clients.

A half-made folder of the cache is never taken for a finished one, and nothing of an npm package is run while it is
installed.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

# What the fixtures and the exporters were made with. `--latest` takes the newest instead.
PINNED = {
    "gptme": "0.35.1",
    "hermes-agent": "0.19.0",
    "atif": "1.7.0",
    "@earendil-works/pi-coding-agent": "1.5.0",
    "openclaw": "2026.9.6",
    "@anthropic-ai/claude-code": "2.1.327",
    "@anthropic-ai/claude-agent-sdk": "0.3.327",
    "@openai/codex": "0.169.0",
    "@google/gemini-cli": "0.61.0",
    "opencode-ai": "1.18.33",
}
# The last release of OpenClaw that keeps sessions in files: no newer one takes its place.
KEPT = {"openclaw-files": ("openclaw", "2026.7.1")}
FROM_PYPI = {"gptme", "hermes-agent", "atif"}
# Their package is a bundle that needs none of its dependencies, some of which are not in the registry.
BUNDLES = {"@earendil-works/pi-coding-agent"}
NODE = "24.21.0"
DONE = ".complete"


class CannotRun(Exception):
    """Something without which the programs cannot be asked."""


def pinned(name):
    return KEPT[name][1] if name in KEPT else PINNED[name]


def cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "everlog-oracle" / "programs"


def client(*words, cwd=None, seconds=1200):
    """Runs a package client, with the settings that the machine has for it."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{Path(words[0]).name}: {error}") from error
    if done.returncode:
        raise CannotRun(f"{Path(words[0]).name} failed: " + (done.stderr or done.stdout).strip()[-400:])
    return done.stdout


def cached(name, make):
    home = cache() / name
    if not (home / DONE).exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        print(f"oracle: installing {name}", file=sys.stderr, flush=True)
        make(home)
        (home / DONE).touch()
    return home


def machine():
    return {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())


def newest(package):
    if package in FROM_PYPI:
        said = client(sys.executable, "-m", "pip", "index", "versions", package)
        found = re.search(r"\(([^)]+)\)", said)
    else:
        found = re.search(r"(\S+)\s*$", client("npm", "view", package, "version"))
    if not found:
        raise CannotRun(f"no release of {package} was found")
    return found.group(1)


class Programs:
    """The programs of one run, pinned or newest; each is installed when it is first asked for."""

    def __init__(self, latest):
        self.latest = latest
        self.versions = {}
        self.lock = threading.RLock()

    def version(self, name):
        with self.lock:
            if name not in self.versions:
                self.versions[name] = newest(name) if self.latest and name not in KEPT else pinned(name)
            return self.versions[name]

    def folder(self, name):
        """The folder with the package: a virtual environment, or that of the npm package itself. One is installed at a time."""
        with self.lock:
            return self.installed(KEPT[name][0] if name in KEPT else name, self.version(name))

    def installed(self, package, version):
        name = f"{package.replace('@', '').replace('/', '-')}-{version}"
        if package in FROM_PYPI:
            return cached(name, lambda at: venv(at, f"{package}=={version}")) / "venv"
        if package in BUNDLES:
            return cached(name, lambda at: pack(at, f"{package}@{version}")) / "package"
        return cached(name, lambda at: npm(at, f"{package}@{version}")) / "node_modules" / package

    def python(self, package):
        return self.folder(package) / "bin" / "python"

    def modules(self, package):
        """The folder of npm packages in which this one is."""
        return self.folder(package).parents[1 if package.startswith("@") else 0]

    def command(self, package, name):
        return (self.modules(package) / ".bin" / name).resolve()

    def binary(self, package, name, of=None):
        """A native program, which lies in a package for the machine beside the one that names it."""
        system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system())
        return self.modules(package) / f"{of or package}-{system}-{machine()}" / name

    def node(self):
        """A Node that all of them take: the machine's, or one from npm."""
        found = shutil.which("node")
        if found:
            major = int(re.search(r"\d+", client(found, "--version")).group())
            if major == 24:
                return Path(found)
        system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system())
        if not system or not machine():
            raise CannotRun("needs Node 24")
        package = f"node-{system}-{machine()}"
        with self.lock:
            home = cached(f"{package}-{NODE}", lambda at: npm(at, f"{package}@{NODE}"))
        return home / "node_modules" / package / "bin" / "node"


def npm(at, what):
    (at / "package.json").write_text('{"name":"oracle","version":"1.0.0","private":true}')
    client("npm", "install", "--prefix", at, "--no-audit", "--no-fund", "--ignore-scripts", "--silent", what, cwd=at)


def pack(at, what):
    """The package alone. Nothing of it is written outside its folder."""
    client("npm", "pack", "--silent", "--pack-destination", at, what, cwd=at)
    for archive in at.glob("*.tgz"):
        with tarfile.open(archive) as tar:
            root = at.resolve()
            for member in tar.getmembers():
                if not (root / member.name).resolve().is_relative_to(root) or not (member.isfile() or member.isdir()):
                    raise CannotRun(f"{archive.name} has a member {member.name}")
            tar.extractall(at)
        archive.unlink()


def venv(at, what):
    client(sys.executable, "-m", "venv", at / "venv")
    client(at / "venv" / "bin" / "pip", "install", "--quiet", what)
