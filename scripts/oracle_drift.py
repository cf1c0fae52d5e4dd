"""What a newer release of a program writes that everlog does not know yet.

A program that went on with an exported session has written records of its own after it. They are converted as any
session is: what the conversion reports as unknown, and what it keeps beside the facts, is what changed in the program.
"""

import json
import shutil
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
# Codes of findings that speak of something which the program wrote and everlog does not know.
UNKNOWN = {"unknown_record", "unknown_event", "unknown_field", "unsupported_version", "newer_version"}


def drift_of(target, sessions, before, run, work):
    """New record types, new members and changed loaders, as sentences."""
    shutil.rmtree(work, ignore_errors=True)
    code, out, err = run("migrate", sessions, "-o", work, "--format", target, "--json")
    if code == 2:
        return [f"its sessions cannot be converted any more: {err.strip()[-200:]}"]
    found = []
    for row in filter(None, map(parsed, out.split("\n"))):
        for finding in row.get("findings") or []:
            if finding["code"] in UNKNOWN:
                found.append(f"[{finding['code']}] {finding.get('message', '')}")
        if row.get("status") == "failed":
            found.append(f"what it wrote cannot be proven: {row.get('error', 'the conversion failed')}")
    return found + new_members(target, sessions, before)


def new_members(target, sessions, before):
    """Members and types of the records that were added, as far as no fixture of the format has them."""
    known, added = set(), set()
    for path in (FIXTURES / target).glob("*/input/**/*.json*"):
        names_of(path.read_bytes() if path.is_file() else b"", known)
    for path in sessions.rglob("*.jsonl"):
        old, now = before.get(path, b""), path.read_bytes()
        names_of(old, known)
        if now.startswith(old):
            names_of(now[len(old):], added)
    return [f"it writes {name}, which no fixture has" for name in sorted(added - known)]


def names_of(data, names):
    """Collects the types of records, and their members with those one level below."""
    for record in filter(None, map(parsed, data.split(b"\n"))):
        if not isinstance(record, dict):
            continue
        names.add(f"the type {record.get('type')}")
        for name, value in record.items():
            names.add(f"the member {name}")
            names |= {f"the member {name}.{inner}" for inner in value} if isinstance(value, dict) else set()


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None
