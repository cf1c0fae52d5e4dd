#!/usr/bin/env python3
"""Asks Spark the questions of docs/src/howto/query.md over the same files as DuckDB, and compares the answers
with what everlog says.

    questions.py [--everlog BINARY] [--master URL] STORE WORK

Needs Java 17; PySpark and DuckDB are put into a virtual environment in a cache, and the tables below WORK.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import questions

PINS = ["duckdb==2.0.0", "pyspark==4.3.0"]


def ask_spark(spark, tables):
    for table in questions.TABLES:
        spark.read.parquet(f"{tables}/{table}").createOrReplaceTempView(table)
    return {name: [tuple(row) for row in spark.sql(sql).collect()] for name, sql in questions.questions().items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--everlog", default="everlog")
    options.add_argument("--master", default="local[2]")
    options.add_argument("store")
    options.add_argument("work")
    given = options.parse_args()
    python = str(questions.install(PINS))
    if Path(sys.prefix) != questions.environment(PINS):
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(given.master).appName("everlog questions")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    os.makedirs(given.work, exist_ok=True)
    wanted = questions.expected(given.everlog, given.store)
    well = True
    for name, tables in questions.export(given.everlog, given.store, given.work).items():
        theirs = ask_spark(spark, tables)
        well &= questions.compare(f"Spark, {name}", theirs, wanted)
        well &= questions.compare(f"DuckDB, {name}", questions.ask_duckdb(tables), wanted)
    spark.stop()
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
