"""Before and after: another revision and this build on the same folders, in turns."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTENDERS = ["migrate", "migrate again", "verify", "restore"]


def build(revision, scratch):
    """The program as it was at a revision; raises CalledProcessError where it cannot be built."""
    tree = scratch / "before"
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, revision], check=True)
    try:
        # Beside our own build, so that the next comparison finds the dependencies built.
        target = ROOT / "target" / "compare"
        command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", tree / "Cargo.toml"]
        # As the profile `dist` builds it: revisions before that profile must be built alike.
        alike = {"CARGO_PROFILE_RELEASE_LTO": "thin", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"}
        subprocess.run(command, check=True, env={**os.environ, **alike, "CARGO_TARGET_DIR": str(target)})
        return shutil.copy(target / "release" / "everlog", scratch / "everlog-before")
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)


def measure(run, new_best, programs, folder, scratch, rounds):
    """What each program took for each contender: program -> contender -> Best."""
    took = {which: {contender: new_best() for contender in CONTENDERS} for which in programs}
    for _ in range(rounds):
        for which, everlog in programs.items():
            dest, back = scratch / "compare-dest", scratch / "compare-back"
            run(took[which]["migrate"], [everlog, "migrate", folder, "-o", dest])
            run(took[which]["migrate again"], [everlog, "migrate", folder, "-o", dest])
            run(took[which]["verify"], [everlog, "verify", dest])
            run(took[which]["restore"], [everlog, "restore", dest, "-o", back])
            shutil.rmtree(dest)
            shutil.rmtree(back)
    return took


def print_table(name, says, took):
    """CPU time decides: it hardly depends on what else the machine does."""
    print(f"\n{name}: {says}")
    print(f"  {'':16}{'CPU before':>12}{'after':>10}{'ratio':>8}{'time before':>14}{'after':>10}{'ratio':>8}")
    for contender in CONTENDERS:
        before, after = took["before"][contender], took["after"][contender]
        cpu, time = (min(before.cpu), min(after.cpu)), (before.time, after.time)
        print(f"  {contender:16}{cpu[0]:>10.2f} s{cpu[1]:>8.2f} s{cpu[1] / cpu[0]:>8.2f}{time[0]:>12.2f} s{time[1]:>8.2f} s{time[1] / time[0]:>8.2f}", flush=True)
