"""What the programs answered: kept in a file where one is named, and printed as a matrix."""

import json
import threading

from oracle_install import pinned
from oracle_programs import PROGRAMS


class Answers:
    """The cells: one for each session, target and interface. What is in the file is not asked again."""

    def __init__(self, path, is_json):
        self.path, self.is_json = path, is_json
        self.lock = threading.Lock()
        self.cells, self.complete = [], set()
        rows = [json.loads(line) for line in path.read_text().split("\n") if line] if path and path.exists() else []
        self.complete = {tuple(row["done"]) for row in rows if "done" in row}
        # What a run that was ended left unfinished is asked again.
        self.cells = [row for row in rows if "done" not in row and self.key(row) in self.complete]
        if rows:
            kept = self.cells + [{"done": list(done)} for done in sorted(self.complete)]
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))

    @staticmethod
    def key(cell):
        return (cell["source"], cell["case"], cell["target"])

    def has(self, source, case, target):
        return (source, case, target) in self.complete

    def keep(self, row):
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def put(self, source, case, target, session, problems, note=None):
        cell = {"source": source, "case": case, "target": target, "session": session, "passed": not problems, "problems": problems, "note": note}
        with self.lock:
            self.cells.append(cell)
            self.keep(cell)
            if self.is_json:
                print(json.dumps(cell), flush=True)
            elif problems:
                print(f"FAILED {source}/{case} {session} -> {target}: {'; '.join(problems)[:600]}", flush=True)

    def done(self, source, case, target):
        with self.lock:
            self.complete.add((source, case, target))
            self.keep({"done": [source, case, target]})

    def all_passed(self):
        return all(cell["passed"] for cell in self.cells)


def print_report(answers, targets, counts, programs, drift, other_loaders):
    print_matrix(answers, targets, counts)
    for case, why in other_loaders.items():
        print(f"\nNot asked to load {case}: {why}.", end="")
    asked = {source if target == "restored" else target for source, _, target in answers.complete}
    for kind in filter(None, map(PROGRAMS.get, asked)):
        programs.version(kind.package)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(programs.versions.items()))
    print(f"\n\nPrograms: {versions}.")
    for name, version in sorted(programs.versions.items()):
        if version != pinned(name):
            print(f"newer: {name} {version}, pinned is {pinned(name)}")
    for target, found in sorted(drift.items()):
        for one in sorted(found):
            print(f"drift: {target}: {one}")


def print_matrix(answers, targets, counts):
    """A row for each source. A cell that was asked about fewer cases than its row says so."""
    sources = sorted({source for source, _, _ in answers.complete})
    rows = [["source", "cases", *targets]]
    for source in sources:
        asked = {target: {case for of, case, to in answers.complete if (of, to) == (source, target)} for target in targets}
        most = max(map(len, asked.values()), default=0)
        total = counts.get(source, most)
        row = [source, f"{most}" if most == total else f"{most} of {total}"]
        for target in targets:
            tried = [cell for cell in answers.cells if (cell["source"], cell["target"]) == (source, target)]
            refused = sum(cell.get("note") == "refused" for cell in tried)
            text = f"{sum(cell['passed'] for cell in tried) - refused}/{len(tried) - refused}" if tried else without(source, target, bool(asked[target]))
            text += f", {refused} refused as the original is" if refused else ""
            fewer = f" ({len(asked[target])} of {total} cases)" if tried and len(asked[target]) < most else ""
            row.append(text + fewer)
        rows.append(row)
    for n, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if n == 0:
            print("|" + "---|" * len(row))


def without(source, target, is_asked):
    """What stands in a cell without a number."""
    kind = PROGRAMS.get(source if target == "restored" else target)
    if target == "restored":
        return "not asked" if kind and kind.loads and not is_asked else ""
    return "-" if kind is None and target != "atif" else "" if is_asked else "not asked"
