"""What `bench` prints: sizes, times, and claims beside their targets."""

import sys

MIB = 1024 * 1024


def size(count):
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} KB"


def seconds(value):
    return f"{value * 1000:,.1f} ms" if value < 0.1 else f"{value:,.2f} s"


def print_times(name, where, source, took):
    print(f"\n{name}, {where}: {source.says()}")
    print(f"  {'':22}{'time':>11}{'x cp -r':>10}{'MB/s':>10}{'CPU time':>12}{'peak memory':>14}")
    for contender, best in took.items():
        if best is None:
            print(f"  {contender:22}{'not installed':>14}")
            continue
        whole = not contender.startswith("replay")
        rate = f"{source.size / 1e6 / best.time:,.0f}" if whole and contender != "migrate again" else ""
        ratio = f"{best.time / took['cp -r'].time:,.1f}" if whole else ""
        print(f"  {contender:22}{seconds(best.time):>11}{ratio:>10}{rate:>10}{seconds(min(best.cpu)):>12}{best.peak / MIB:>10,.0f} MiB")


def figure(value, unit):
    if unit == "x":
        return f"{value:.2f} x" if value < 10 else f"{value:.1f} x"
    return f"{value:,.0f} {unit}"


def print_claims(claims):
    for claim in claims:
        target = ("at least " if claim["at_least"] else "at most ") + figure(claim["limit"], claim["unit"])
        if claim["aim"]:
            target += f", aim {claim['aim']}"
        verdict = "ok" if claim["met"] else "MISSED"
        if claim["met"] and claim["aim"] and claim["measured"] > claim["aim"]:
            verdict = "ok, short of the aim"
        note = f"  ({claim['note']})" if claim["note"] else ""
        print(f"  = {claim['claim']:30}{figure(claim['measured'], claim['unit']):>12}   {target:26} {verdict}{note}")
    sys.stdout.flush()


def print_summary(bench):
    missed = [claim for claim in bench.claims if not claim["met"]]
    print(f"\n{len(bench.claims) - len(missed)} of {len(bench.claims)} targets met")
    for claim in missed:
        bound = "at least" if claim["at_least"] else "at most"
        print(f"  MISSED  {claim['folder']}: {claim['claim']} {figure(claim['measured'], claim['unit'])}, {bound} {figure(claim['limit'], claim['unit'])}")
