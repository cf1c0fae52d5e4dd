"""Run by gptme's own Python: goes on with many sessions, each in a process of its own that has the program loaded
already. Sessions come on stdin, a line each; a line on stdout says how each ended."""
import json
import os
import signal
import sys
import tempfile
import time

import gptme.chat  # noqa: F401  loaded once for all
import gptme.llm.llm_anthropic  # noqa: F401
import gptme.llm.llm_openai  # noqa: F401
from gptme.cli.main import main

SECONDS = 120


def go_on(job, said):
    """In a process of its own: what the command does."""
    os.setsid()
    for to, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, said.fileno()), (2, said.fileno())):
        os.dup2(file, to)
    model, folder = sys.argv[1:]
    words = ["--name", job["session"], "-n", "-m", model, "--tool-format", "tool", "-t", "shell,save", "-w", folder, "--no-stream", job["prompt"]]
    main.main(words, prog_name="gptme", standalone_mode=True)


def wait(child):
    """Waits for a process, and ends one that takes too long."""
    began = time.monotonic()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() - began > SECONDS:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.02)


for line in sys.stdin.read().splitlines():
    job = json.loads(line)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            try:
                go_on(job, said)
            finally:
                os._exit(1)
        wait(child)
        said.seek(0)
        error = " ".join(said.read().decode("utf-8", "replace").split())[-400:]
    print("@@" + json.dumps({"session": job["session"], "error": error or "it said nothing"}), flush=True)
