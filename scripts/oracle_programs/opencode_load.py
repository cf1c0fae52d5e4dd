"""What opencode's server gives for each session of its database, a line each. Sessions are named by the database that
this one is a copy of."""
import json
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from urllib.parse import quote

program, name, database = sys.argv[1:]


def get(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
        return json.load(answer)


tables = sqlite3.connect(database)
ids = [row[0] for row in tables.execute("SELECT id FROM session ORDER BY id")]
tables.close()
server = subprocess.Popen([program, "serve", "--hostname", "127.0.0.1", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
signal.signal(signal.SIGALRM, lambda *_: server.kill())
signal.alarm(120)
try:
    said, url = [], None
    for line in server.stdout:
        said.append(line)
        url = re.search(r"http://127\.0\.0\.1:\d+", line)
        if url:
            break
    if not url:
        sys.exit("it does not listen: " + "".join(said)[-300:])
    for session in ids:
        row = {"session": f"{name}/{quote(session, safe='')}", "messages": [], "error": None}
        try:
            row["messages"] = get(f"{url.group()}/session/{quote(session, safe='')}/message")
        except (OSError, ValueError) as error:  # whatever the server answers is how its load ends
            row["error"] = f"{type(error).__name__}: {error}"
        print("@@" + json.dumps(row))
finally:
    server.kill()
    server.wait()
