"""Run by gptme's own Python: what its loader gives for each conversation of a folder, a line each."""
import json
import logging
import sys
from pathlib import Path

logging.disable(logging.CRITICAL)
from gptme.logmanager import LogManager  # noqa: E402

for folder in sorted(Path(sys.argv[1]).iterdir()):
    if not (folder / "conversation.jsonl").exists():
        continue
    row = {"session": folder.name, "messages": [], "error": None}
    try:
        for message in LogManager.load(folder, lock=False).log:
            said = message.to_dict()
            said["files"] = [str(path) for path in message.files]
            row["messages"].append(said)
    except Exception as error:  # whatever the loader raises is how its load ends
        row["error"] = f"{type(error).__name__}: {error}"
    print("@@" + json.dumps(row, default=str))
