"""Run by the Hermes agent's own Python: what its storage gives for each session of its databases, a line each."""
import json
import sqlite3
import sys
from pathlib import Path
from urllib.parse import quote

from hermes_state import SessionDB

for file in sorted(Path(sys.argv[1]).rglob("*.db")):
    tables = sqlite3.connect(file)
    ids = [row[0] for row in tables.execute("SELECT id FROM sessions ORDER BY id")]
    tables.close()
    database = SessionDB(file)
    for session in ids:
        # As logs are named: below their database, without what a file name cannot have.
        row = {"session": f"{file.relative_to(sys.argv[1])}/{quote(session, safe='')}", "messages": [], "error": None}
        try:
            row["messages"] = database.get_messages_as_conversation(session)
        except Exception as error:  # whatever the loader raises is how its load ends
            row["error"] = f"{type(error).__name__}: {error}"
        print("@@" + json.dumps(row, default=str))
