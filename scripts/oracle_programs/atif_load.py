"""Run with the Python package of the trajectory format: what it objects to in each file of a folder, a line each."""
import json
import sys
from pathlib import Path

from atif import Trajectory

for file in sorted(Path(sys.argv[1]).rglob("*.json")):
    row = {"session": str(file.relative_to(sys.argv[1])), "error": None}
    try:
        Trajectory.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except ValueError as error:
        row["error"] = " ".join(str(error).split())
    print("@@" + json.dumps(row))
