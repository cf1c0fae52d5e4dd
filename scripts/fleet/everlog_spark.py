#!/usr/bin/env python3
"""Runs `everlog` on a Spark cluster: a job of N tasks, each a part of one migration or one verification.

    everlog_spark.py migrate SOURCE DEST --shards N [--everlog FILE] [--reports FOLDER] [--compact] [-- OPTION…]
    everlog_spark.py verify DEST --shards N [--source SOURCE] [--everlog FILE] [--reports FOLDER] [-- OPTION…]

SOURCE, DEST and REPORTS are folders that every executor sees under the same path: a shared file system, whose locks
work between machines. Options of everlog's own stand after `--` and are handed to every part.

Conversion is independent for each session, so no engine of our own is needed: Spark starts the processes and starts
those again that die. A part that is repeated goes on where it was cut short, and what it had done counts. A part whose
predecessor still runs (its executor died, its process not yet) waits for it. The job ends with a table of verdicts, and
fails if one of them is not well. After `migrate` with `--compact` the store is the one of a single run, byte for byte.

Exit codes: 0 every part is well; 1 a part found something; 2 a part could not be done.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# A part waits so long for a predecessor that still writes, and asks so often.
PATIENCE = 600.0
PAUSE = 1.0
# What everlog says of a store that another run writes to.
BUSY = ("another run is writing", "a part of a run of")
WORDS = {0: "well", 1: "found something", 2: "not done"}


def words_of(job, shard):
    """The command line of one part; nothing in it depends on the machine."""
    words = [job["everlog"], job["command"]]
    words += [job["source"], "-o", job["dest"]] if job["command"] == "migrate" else [job["dest"]]
    if job["command"] == "verify" and job["source"]:
        words += ["--source", job["source"]]
    return words + ["--shard", f"{shard}/{job['shards']}", "--json", *job["options"]]


def run_part(job, shard):
    """Runs one part to its end on whichever executor; its report as a row.

    What a process printed goes into a file that gets its name when it is complete, so a part that died leaves none.
    """
    reports = Path(job["reports"])
    name = f"{job['command']}-{shard}-of-{job['shards']}.jsonl"
    half = reports / f".{name}.{os.uname().nodename}.{os.getpid()}"
    until = time.monotonic() + PATIENCE
    began = time.monotonic()
    while True:
        with open(half, "wb") as out:
            done = subprocess.run(words_of(job, shard), stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        said = done.stderr.decode(errors="replace")
        is_busy = done.returncode == 2 and any(word in said for word in BUSY)
        if not is_busy or time.monotonic() > until:
            break
        time.sleep(PAUSE)
    if done.returncode not in WORDS:
        half.unlink(missing_ok=True)
        # It was killed, or it has crashed: for Spark to start again.
        raise RuntimeError(f"part {shard}/{job['shards']} ended with {done.returncode}: {said[-2000:]}")
    os.replace(half, reports / name)
    return {
        "shard": shard,
        "exit": done.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "summary": last_object(reports / name),
        "said": said[-2000:],
    }


def last_object(path):
    """The closing object of a report, as text; empty where the part could not be done."""
    last = b""
    with open(path, "rb") as lines:
        for line in lines:
            last = line if line.strip() else last
    try:
        return json.dumps(json.loads(last)["summary"])
    except (ValueError, KeyError, TypeError):
        return ""


def rows_of(spark, job):
    """A row for each part, in their order."""
    from pyspark.sql import types as t

    schema = t.StructType(
        [
            t.StructField("shard", t.IntegerType(), False),
            t.StructField("exit", t.IntegerType(), False),
            t.StructField("seconds", t.DoubleType(), False),
            t.StructField("summary", t.StringType(), False),
            t.StructField("said", t.StringType(), False),
        ]
    )
    # One task for each part: tasks that die are started again one by one.
    parts = spark.sparkContext.parallelize(range(1, job["shards"] + 1), job["shards"])
    columns = schema.fieldNames()

    def run(shard):
        row = run_part(job, shard)
        return tuple(row[column] for column in columns)

    frame = spark.createDataFrame(parts.map(run), schema)
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: row["shard"])


def table_of(rows, job):
    """The verdicts for a person."""
    head = ["part", "verdict", "sessions", "messages", "proven now", "unchanged", "failed", "seconds"]
    if job["command"] == "verify":
        head = ["part", "verdict", "logs", "messages", "the same", "other", "seconds"]
    lines = [head]
    for row in rows:
        said = json.loads(row["summary"]) if row["summary"] else {}
        part = f"{row['shard']}/{job['shards']}"
        if job["command"] == "migrate":
            counts = [said.get(key, "-") for key in ("sessions", "messages", "proven_now", "unchanged_since_proven", "failed")]
        else:
            verdicts = said.get("verdicts", {})
            same = verdicts.get("same", "-")
            other = sum(verdicts.values()) - verdicts.get("same", 0) if verdicts else "-"
            counts = [said.get("logs", "-"), said.get("messages", "-"), same, other]
        lines.append([part, WORDS[row["exit"]], *counts, row["seconds"]])
    lines = [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def merged(job):
    """Everlog's own report of all parts of a verification."""
    reports = [str(Path(job["reports"]) / f"verify-{shard}-of-{job['shards']}.jsonl") for shard in range(1, job["shards"] + 1)]
    return subprocess.run([job["everlog"], "verify", "--merge-reports", *reports]).returncode


def parse(words):
    own, options = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    migrate = commands.add_parser("migrate", help="convert a source into a store")
    migrate.add_argument("source")
    migrate.add_argument("dest")
    migrate.add_argument("--compact", action="store_true", help="make one file of the receipts in the end")
    verify = commands.add_parser("verify", help="check a store")
    verify.add_argument("dest")
    verify.add_argument("--source", default="")
    for one in (migrate, verify):
        one.add_argument("--shards", type=int, required=True, help="how many parts, each a task")
        one.add_argument("--everlog", default="everlog", help="the program, on every executor")
        one.add_argument("--reports", default="", help="the folder for the parts' reports [default: beside the store]")
    args = parser.parse_args(own)
    if args.shards < 1:
        parser.error("there is at least one part")
    absolute = lambda path: str(Path(path).resolve()) if path else ""
    dest = absolute(args.dest)
    return {
        "command": args.command,
        "source": absolute(args.source),
        "dest": dest,
        "shards": args.shards,
        "everlog": args.everlog,
        "reports": absolute(args.reports) or f"{dest}.reports",
        "compact": getattr(args, "compact", False),
        "options": options,
    }


def main():
    job = parse(sys.argv[1:])
    Path(job["reports"]).mkdir(parents=True, exist_ok=True)

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(f"everlog {job['command']}").getOrCreate()
    try:
        rows = rows_of(spark, job)
    finally:
        spark.stop()
    print(table_of(rows, job))
    for row in rows:
        if row["exit"] != 0 and row["said"]:
            print(f"part {row['shard']}/{job['shards']} said:\n{row['said']}", file=sys.stderr)
    worst = max(row["exit"] for row in rows)
    if worst < 2 and job["command"] == "verify":
        worst = max(worst, merged(job))
    if worst < 2 and job["compact"]:
        worst = max(worst, subprocess.run([job["everlog"], "store", "compact", job["dest"]]).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
