"""What a newer release of a program writes that everlog does not know yet.

A program that went on with an exported session has written records of its own behind it. They are converted as any
session is: what the conversion reports as unknown, and what it keeps beside the facts, is what changed in the program.
"""

import json
import shutil

# Codes of findings that speak of something which the program wrote and everlog does not know.
UNKNOWN = ("unknown", "new_", "unsupported", "unrecognised")


def drift_of(target, sessions, before, run, work):
    """New record types, new members and changed loaders, as sentences."""
    shutil.rmtree(work, ignore_errors=True)
    code, out, err = run("migrate", sessions, "-o", work, "--format", target, "--json")
    if code == 2:
        return [f"its sessions cannot be converted any more: {err.strip()[-200:]}"]
    found = []
    for row in filter(None, map(parsed, out.split("\n"))):
        for finding in row.get("findings") or []:
            if finding.get("code", "").startswith(UNKNOWN):
                found.append(f"[{finding['code']}] {finding.get('message', '')}")
        if row.get("verdict") == "failed" or row.get("error"):
            found.append(f"its loader has changed: {row.get('error') or row.get('verdict')}")
    return found + new_members(sessions, before)


def new_members(sessions, before):
    """Members and types of the records that were added, as far as no record of the export has them."""
    known, added = set(), set()
    for path in sessions.rglob("*.jsonl"):
        old = before.get(path, b"")
        now = path.read_bytes()
        if now == old or not now.startswith(old):
            continue
        for lines, names in ((old, known), (now[len(old):], added)):
            for record in filter(None, map(parsed, lines.split(b"\n"))):
                if isinstance(record, dict):
                    names |= {f"member {name}" for name in record} | {f"type {record.get('type')}"}
    return [f"it writes a {name} that everlog's exports do not have" for name in sorted(added - known)]


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None
