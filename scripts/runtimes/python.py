"""Writes tables of inputs with CPython's answers; see scripts/record-runtimes.

Every row is a JSON array. Texts are escaped to ASCII, so that lone surrogates
survive. An exception stands as the name of its class after a `!`.
"""

import io
import json
import math
import os
import random
import struct
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from dateutil.parser import isoparse

if sys.version_info[:2] != (3, 11):
    sys.exit("record-runtimes: the tables hold the answers of CPython 3.11")

OUT = Path(sys.argv[1])
SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
ODD = "\0\x01\x08\x7f\x80\xad\xe9\u0301\u0130\u03a3\u03c3\u200b\u2027\u2060\ud7ff\ue000\ufeff\ufffd\uffff\U00010000\U0001f600\U000e0041\U0010ffff"
HALVES = "\ud800\ud83d\udbff\udc00\ude00\udc80\udcff\udfff"
PLAIN = "abcxyzABC019 _-/.,:;{}[]'\"\\\n\t"


def answer(function):
    try:
        return function()
    except RecursionError:
        return "!RecursionError"
    except json.JSONDecodeError:
        return "!JSONDecodeError"
    except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as error:
        return "!" + type(error).__name__


def write(name, rows):
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
    (OUT / f"{name}.jsonl").write_text("".join(dict.fromkeys(lines)), encoding="ascii")
    print(f"{name}: {len(lines)} rows")


def joined(text):
    """The text with two halves that meet joined: what json.loads would give."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def text(rng, longest=12):
    pools = rng.choices([PLAIN, SPACES, ODD, HALVES], weights=[8, 2, 2, 1], k=rng.randint(0, longest))
    return joined("".join(rng.choice(pool) for pool in pools))


def spelling(rng, value):
    """One of the many ways to write a string as JSON."""
    out = []
    for c in value:
        code = ord(c)
        short = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 92: "\\", 47: "/"}.get(code)
        units = c.encode("utf-16-be", "surrogatepass")
        hexes = "".join("\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
        if rng.random() < 0.2:
            hexes = hexes.upper().replace("\\U", "\\u")
        raw = not 0xD800 <= code < 0xE000 and code >= 32 and c not in '"\\'
        ways = [hexes] + ([c] * 6 if raw else []) + (["\\" + short] * 3 if short else [])
        out.append(rng.choice(ways))
    return '"' + "".join(out) + '"'


def number(rng):
    return rng.choice([
        lambda: str(rng.randint(-20, 20)),
        lambda: "-0",
        lambda: str(rng.getrandbits(rng.randint(1, 200)) * rng.choice([1, -1])),
        lambda: "%d.%d" % (rng.randint(-99, 99), rng.randint(0, 10**6)),
        lambda: "%de%d" % (rng.randint(-9, 9), rng.randint(-330, 330)),
        lambda: "%.3fE+%d" % (rng.random(), rng.randint(0, 30)),
        lambda: repr(struct.unpack("<d", rng.randbytes(8))[0]).replace("nan", "NaN").replace("inf", "Infinity"),
        lambda: rng.choice(["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "0.0", "-0.0", "1.0", "100"]),
    ])()


def value(rng, depth, string, simplest=0):
    """A JSON text with white space, equal keys and any spelling; from 7 on a container."""
    blank = lambda: rng.choice(["", "", "", " ", "\n ", "\t", "\r\n"])
    kind = rng.randint(simplest, 9 if depth else 6)
    if kind < 3:
        return string(rng)
    if kind < 5:
        return number(rng)
    if kind < 7:
        return rng.choice(["true", "false", "null"])
    if kind < 8:
        return "[" + blank() + (blank() + "," + blank()).join(value(rng, depth - 1, string) for _ in range(rng.randint(0, 4))) + blank() + "]"
    keys = [rng.choice(["a", "b", "c", "é", "\ud800", "", text(rng, 3)]) for _ in range(rng.randint(0, 5))]
    members = [spelling(rng, key) + blank() + ":" + blank() + value(rng, depth - 1, string) for key in keys]
    return "{" + blank() + (blank() + "," + blank()).join(members) + blank() + "}"


def any_string(rng):
    return spelling(rng, text(rng, 6))


def damaged(rng, source):
    """The text with one place changed."""
    at = rng.randint(0, len(source))
    change = rng.choice(["cut", "drop", "insert", "insert", "double"])
    if change == "cut":
        return source[:at]
    if change == "drop":
        return source[:at] + source[at + 1:]
    if change == "double":
        return source + source[at:]
    return source[:at] + rng.choice(list('{}[],:"\\ \n\x0c\x01\ufeff+-.0e1NnI\u2028')) + source[at:]


def loads():
    rng = random.Random(1)
    usual = sys.getrecursionlimit()

    def parsed(source, limit=60):
        sys.setrecursionlimit(limit)
        try:
            found = answer(lambda: [json.loads(source)])
        finally:
            sys.setrecursionlimit(usual)
        return found if isinstance(found, str) else repr(found[0])

    deepest = 1
    while parsed("[" * deepest + "]" * deepest) != "!RecursionError":
        deepest += 1
    samples = ["", " ", "01", "1.", ".5", "+1", "1e", "-", "nan", "-NaN", '"\\x"', '"\\u12g4"', '"\\u12', '"\\', '"\t"', '"open', "[1,]", '{"a":1,}',
             "{a:1}", '{"a" 1}', "{1:1}", "[1}", "[1 2]", "]", "nul", "1 2", "\ufeff1", '{"a":1}x', "{,}", "'a'", "[}", "1\x0c", "\x0b1", "truefalse",
             '"\\ud83d\\ude00\\ud83d"', '"\x7f\u2028"', "-0", "1E+5", " {} ", "[" * (deepest - 1) + "]" * (deepest - 1), "[" * deepest + "]" * deepest,
             "[" * deepest, "[" * (deepest - 1) + "x", '{"a":' * deepest, "[" * (deepest - 1) + "{", "[1," * deepest, "[" + "]" * 99, "[x" + "[" * 99]
    while len(samples) < 1500:
        source = value(rng, 3, any_string)
        samples.append(damaged(rng, source) if rng.random() < 0.5 else source)
    samples += ["9" * 4300, "[-" + "9" * 4301 + "x", "x" + "9" * 4301]
    rows = []
    for source in samples:
        rows.append((source, deepest, parsed(source)))
    write("loads", rows)


def dumps():
    rng = random.Random(2)
    escaped = lambda written: "".join("\\u%04x" % ord(c) if 0xD800 <= ord(c) < 0xE000 else c for c in written)
    rows = []
    for _ in range(450):
        # Numbers and strings in CPython's own form, because the forms keep them;
        # keys in any spelling, because these are compared.
        own_string = lambda rng: json.dumps(text(rng, 5))
        source = with_own_numbers(value(rng, 3, own_string, simplest=7))
        parsed = json.loads(source)
        rows.append((
            source,
            json.dumps(parsed),
            escaped(json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))),
            repr(parsed),
            repr(in_order(parsed)),
        ))
    write("dumps", rows)


def with_own_numbers(source):
    """The text with every number as `repr` writes it; spelling, order, blanks and equal keys stay."""
    out, at = [], 0
    decoder = json.JSONDecoder()
    while at < len(source):
        c = source[at]
        if c == '"':
            _, end = decoder.raw_decode(source, at)
            out.append(source[at:end])
        elif c in "-0123456789NI":
            parsed, end = decoder.raw_decode(source, at)
            out.append(json.dumps(parsed))
        else:
            end = at + 1
            out.append(c)
        at = end
    return "".join(out)


def in_order(parsed):
    if isinstance(parsed, dict):
        return {key: in_order(parsed[key]) for key in sorted(parsed)}
    return [in_order(item) for item in parsed] if isinstance(parsed, list) else parsed


def layout():
    """Values on one line and indented."""
    rng = random.Random(3)
    rows = []
    while len(rows) < 200:
        parsed = json.loads(value(rng, 3, any_string, simplest=7))
        compact = json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))
        # The log, which these styles render, escapes such characters itself.
        if any(0xD800 <= ord(c) < 0xE000 or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u2029" for c in compact):
            continue
        rows.append((compact, json.dumps(parsed), json.dumps(parsed, ensure_ascii=False), json.dumps(parsed, indent=2), json.dumps(parsed, ensure_ascii=False, indent=2)))
    write("layout", rows)


def strings():
    rng = random.Random(4)
    samples = [text(rng, 14) for _ in range(650)]
    samples += [SPACES, ODD, joined(HALVES), "it's", '"', "'\"", "\\", "ΑΣ", "ΑΣ Σ", "ΣΑ", "ΑΣ\ud800", "İI", "ǅ"]
    samples += ["a" + end + "b" + end for end in SPACES] + ["\r\n\n\r", "a\r\nb\r"]
    rows = []
    for sample in samples:
        utf8 = json.dumps(sample, ensure_ascii=False)
        utf8 = "".join("\\u%04x" % ord(c) if 0xD800 <= ord(c) < 0xE000 else c for c in utf8)
        rows.append((spelling(rng, sample), json.dumps(sample), utf8, repr(sample), sample.strip(), sample.splitlines(), sample.lower()))
    write("strings", rows)


def lines():
    """Lines of a file in text mode and in binary mode, stripped, without blank ones."""
    rng = random.Random(5)
    rows = []
    for _ in range(300):
        sample = "".join(rng.choice(["a", "é", " ", "\n", "\r", "\r\n", "\x0b", "\x1c", "\x85", "\u2028", "\u3000", "\ufffd"]) for _ in range(rng.randint(0, 14)))
        in_text = [line.strip() for line in io.TextIOWrapper(io.BytesIO(sample.encode()), encoding="utf-8")]
        in_bytes = [line.strip().decode() for line in io.BytesIO(sample.encode())]
        rows.append((sample, [line for line in in_text if line], [line for line in in_bytes if line]))
    write("lines", rows)


def characters():
    """What Unicode is for this Python, over all code points."""
    everything = [chr(code) for code in range(0x110000)]
    toggles, before = [], False
    for c in everything:
        if c.isprintable() != before:
            toggles.append(ord(c))
            before = not before
    lowered = [[ord(c), c.lower()] for c in everything if c.lower() != c]
    digits = [[ord(c), int(c)] for c in everything if c.isdecimal()]
    write("characters", [["printable", toggles], ["space", [ord(c) for c in everything if c.isspace()]], ["lower", lowered], ["digits", digits]])
    source = Path("src/runtimes/python/printable.rs")
    numbers = "".join(f"{toggle:#x}, " for toggle in toggles)
    source.write_text(
        "//! Unicode 14, as CPython 3.11 knows it. Written by `scripts/record-runtimes`.\n\n"
        "/// Where code points begin to be printable, and cease to be, in turn.\n"
        f"pub(super) const TOGGLES: [u32; {len(toggles)}] = [{numbers}];\n"
    )
    os.system(f"rustfmt --edition 2024 {source}")


def number_text(rng):
    digits = lambda: "".join(rng.choice("0123456789") for _ in range(rng.randint(0, 6)))
    body = rng.choice([digits(), digits() + "." + digits(), digits() + "e" + digits(), digits() + "_" + digits(), "inf", "nan", "Infinity", "infinit"])
    if rng.random() < 0.2:
        body = "".join(rng.choice([c, c, chr(ord(c) - 48 + rng.choice([0x660, 0x966, 0xFF10, 0x1D7CE]))]) if c.isdigit() else c for c in body)
    if rng.random() < 0.3:
        at = rng.randint(0, len(body))
        body = body[:at] + rng.choice(["_", " ", "+", "-", "e", ".", "x", "½", "\ud800", "\0", "\x7f", "²"]) + body[at:]
    edge = lambda: rng.choice(["", "", "", " ", "\t", "\x1c", "\u2003", "\x0b", "\x85"])
    return edge() + rng.choice(["", "", "+", "-", "--", "+-"]) + body + edge()


def numbers():
    rng = random.Random(6)
    samples = [number_text(rng) for _ in range(1500)] + ["", " ", "1__0", "_1", "1_", "1_0", "0x1", "1e400", "-0", "00", "0_0", "1." + "0" * 400]
    samples += ["1" * 4300, "1" * 4301, "0" * 4301, "1_" * 4299 + "1"]
    write("numbers", [(sample, answer(lambda: str(int(sample))), answer(lambda: repr(float(sample)))) for sample in samples])
    rows = []
    for _ in range(1300):
        double = struct.unpack("<d", rng.randbytes(8))[0] if rng.random() < 0.6 else rng.choice([1, -1]) * rng.random() * 10.0 ** rng.randint(-8, 20)
        if math.isfinite(double):
            # A spelling with more digits than needed, so that reading rounds too.
            rows.append(("%.*e" % (rng.randint(15, 25), double),))
    edges = ["1e15", "1e16", "9999999999999998.0", "1e17", "0.0001", "0.00001", "0.00009999", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
             "1e308", "1.8e308", "9007199254740993.0", "-0.0", "0e9", "123456789012345678.0", "4.35", "0.1", "1e22", "1e23", "8.5e22", "2.5e-5"]
    # Two shortest spellings that are equally near.
    edges += ["996165664600864.25"] + [str(rng.randint(10**14, 2**50)) + rng.choice([".25", ".75", ".125", ".375"]) for _ in range(60)]
    rows += [(edge,) for edge in edges]
    write("floats", [(token, repr(float(token)), answer(lambda: str(int(float(token)))) if abs(float(token)) < 1e30 else None) for (token,) in rows])


def conversions():
    rng = random.Random(7)
    rows = []
    for _ in range(1600):
        source = rng.choice([number(rng), json.dumps(number_text(rng)), value(rng, 1, any_string), "[ ]", "{\t}", '""', "9" * 400])
        parsed = json.loads(source)
        whole = answer(lambda: str(int(parsed)))
        if len(whole) > 60 and source != "9" * 400:
            continue
        rows.append((source, bool(parsed), whole, answer(lambda: repr(float(parsed))), str(parsed)))
    write("conversions", rows)


def comparisons():
    rng = random.Random(8)
    rows = []
    simple = ["1", "1.0", "true", "0", "false", "-0.0", "NaN", "null", '"1"', '"\\ud800"', '"\U0001f600"', '"\uffff"', "[1,2]", "[1.0,3]", "[1,[2],0]",
              "[1,[2]]", "[NaN]", "[NaN,{}]", '[{"a":1,"b":2}]', '[{"b":2.0,"a":true}]', "{}", '{"a":1}', "9007199254740992.0", "9007199254740993", "1e22",
              "10000000000000000000000", "1e23", "100000000000000000000000", "Infinity", "-Infinity", "9" * 330, "[]", '""', "-1.5", "-1", "0.5", "[[1,2],3]"]
    pairs = [(a, b) for a in simple for b in simple]
    pairs += [(number(rng), number(rng)) for _ in range(150)] + [(any_string(rng), any_string(rng)) for _ in range(100)]
    for a, b in pairs:
        # Both in one text: all NaNs are one object there, as in a file.
        left, right = json.loads(f"[{a},{b}]")
        rows.append((a, b, [left] == [right], answer(lambda: left <= right)))
    write("comparisons", rows)


def dicts():
    rng = random.Random(9)
    rows = []
    fixed = ['""', '"ab"', "[]", "1", "null", '["ab"]', '["abc"]', '["\U0001f600b"]', '[["a",1],["b",2],["a",3]]', "[[1,2],[1.0,3],[true,4]]", "[[NaN,1],[NaN,2]]",
             "[[null,1]]", "[[[],1]]", "[[{},1]]", "[1]", "[null]", "[[1]]", "[[1,2,3]]", '[{"a":1,"b":2}]', '[{"a":1}]', "[[1e400,1],[-1e400,2]]", "[[0,1],[-0.0,2],[false,3]]",
             "[[false,1],[0,2]]", "[[1.50,1]]", '[["\\ud800",1]]', "[[18446744073709551616,1],[1.8446744073709552e19,2]]"]
    samples = fixed + ["[" + ",".join(f"[{value(rng, 1, any_string)},{rng.randint(0, 9)}]" for _ in range(rng.randint(0, 4))) + "]" for _ in range(250)]
    for source in samples:
        rows.append((source, answer(lambda: json.dumps(dict(json.loads(source))))))
    write("dicts", rows)


def times():
    rng = random.Random(10)
    shapes = ["{y}-{m}-{d}T{H}:{M}:{S}", "{y}-{m}-{d}T{H}:{M}:{S}.{f}", "{y}-{m}-{d} {H}:{M}:{S},{f}", "{y}-{m}-{d}", "{y}-{m}", "{y}", "{y}{m}{d}T{H}{M}{S}",
              "{y}-W{w}-{u}", "{y}W{w}{u}", "{y}-W{w}", "{y}-{o}", "{y}{o}", "{y}-{m}-{d}T{H}", "{y}-{m}-{d}T{H}{M}", "{y}-W{w}-{u}T{H}:{M}", "{y}{o}T{H}:{M}"]
    zones = ["", "", "Z", "z", "+00:00", "-00:00", "+05:30", "-0830", "+09", "+5", "+24:00", "-23:59", "+05:60", "+-5", "+01-60", "+05:-9"]
    rows = []
    for _ in range(2600):
        two = lambda low, high: rng.choice(["%02d" % rng.randint(low, high)] * 12 + [" 3", "3 ", "+4", "-1", "1_", "_1", "00", "99", "7"])
        sample = rng.choice(shapes).format(
            y=rng.choice(["2026", "2024", "1999", "0001", "9999", "2000", "1900", "0000", "+026", "2_26", "%04d" % rng.randint(1, 9999)]),
            m=two(1, 12), d=two(1, 31), H=two(0, 24), M=two(0, 59), S=two(0, 59), w=two(1, 54), u=rng.choice("12345670 8"), o="%03d" % rng.randint(0, 367),
            f="".join(rng.choice("0123456789") for _ in range(rng.randint(0, 9))))
        if "T" in sample or " " in sample:
            sample += rng.choice(zones)
        if rng.random() < 0.15:
            at = rng.randint(0, len(sample))
            sample = sample[:at] + rng.choice(["", "0", "-", ":", "T", " ", "é", "_", "W"]) + sample[at + rng.randint(0, 1):]
        rows.append((sample, answer(lambda: isoparse(sample).isoformat())))
    for sample in ["", "9999-12-31T24:00", "9999W526", "9999-W53-7", "9999-W52-5T23:59:59", "2026-12-31T24:00:00.0+05:30", "20261115x2001", "2026-11-15T10:0000"]:
        rows.append((sample, answer(lambda: isoparse(sample).isoformat())))
    write("isoparse", rows)
    stamps = []
    for _ in range(300):
        sample = "%04d-%02d-%02dT%02d:%02d:%02d" % (rng.randint(1, 9999), rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59))
        sample += rng.choice(["", "." + "".join(rng.choice("0012345") for _ in range(rng.randint(1, 9)))]) + rng.choice(["", "Z", "-00:00", "+00:00", "+05:30", "-11:45"])
        stamps.append((sample, isoparse(sample).isoformat()))
    write("isoformat", stamps)
    mtimes = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(600):
            ns = rng.choice([rng.randint(-2000, 2000) * 1000 + 500, rng.randint(0, 2 * 10**18), rng.randint(-10**15, 10**15), rng.randint(0, 2 * 10**9) * 10**9 + rng.choice([0, 500, 1500, 2500, 999999500, 999999499])])
            os.utime(file.name, ns=(ns, ns))
            stat = os.stat(file.name)
            if stat.st_mtime_ns == ns:
                mtimes.append((ns, datetime.fromtimestamp(stat.st_mtime, tz=timezone.utc).isoformat()))
    write("mtimes", mtimes)


def paths():
    rng = random.Random(11)
    part = lambda: rng.choice(["", "", ".", "..", "a", "b.txt", ".bashrc", "a.", "c.tar.gz", "~", "é", "..x", " ", "a.b"])
    samples = ["/".join(part() for _ in range(rng.randint(1, 6))) for _ in range(600)] + ["", "/", "//", "///", "//a", "///a/"]
    rows = []
    for sample in samples:
        path = PurePosixPath(sample)
        absolute = "/no-such-folder/" + sample
        rows.append((sample, str(path), path.suffix, absolute, str(Path(absolute).resolve())))
    write("paths", rows)


def sorts():
    rng = random.Random(12)
    rows = []
    for _ in range(300):
        keys = [rng.choice([float("nan"), float(rng.randint(0, 9)), float(rng.randint(0, 9)), rng.random()]) for _ in range(rng.randint(0, rng.choice([6, 20, 63])))]
        if rng.random() < 0.3:
            keys.sort(reverse=rng.random() < 0.5)
        keys = [round(key, 2) for key in keys]
        rows.append((["nan" if math.isnan(key) else repr(key) for key in keys], sorted(range(len(keys)), key=lambda at: keys[at])))
    write("sorts", rows)


for table in [loads, dumps, layout, strings, lines, characters, numbers, conversions, comparisons, dicts, times, paths, sorts]:
    table()
