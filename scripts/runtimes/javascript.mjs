// Records what the real engine answers, for src/runtimes/javascript.
//
//     scripts/record-runtimes javascript
//
// Writes one table for each function into the folder that it is given, a JSON array in every line. The inputs are generated from a fixed seed, so
// that a second run with the same engine writes the same bytes. A string that may hold lone surrogates or bytes that are not
// text is written as its JSON text or as hex digits, so that every table is plain UTF-8. `null` means that the call throws, or
// for a date and a number, that the answer is NaN.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node javascript.mjs FOLDER");
  process.exit(2);
}
// A time without a zone is UTC in a log.
process.env.TZ = "UTC";

// mulberry32: small, and the same on every machine.
let state = 20260101;
function random(below) {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % below;
}
const pick = (list) => list[random(list.length)];
const many = (count, make) => Array.from({ length: count }, make);
const digits = (count) => many(count, () => random(10)).join("");

function write(name, rows) {
  const seen = new Set();
  const lines = rows.map((row) => JSON.stringify(row)).filter((line) => !seen.has(line) && seen.add(line));
  writeFileSync(join(folder, `${name}.jsonl`), lines.join("\n") + "\n");
  console.log(`${name}: ${lines.length} rows`);
}

// What a call answers, or null where it throws.
function attempt(call) {
  try {
    return call();
  } catch {
    return null;
  }
}

const view = new DataView(new ArrayBuffer(8));
function bits(number) {
  view.setFloat64(0, number);
  return view.getBigUint64(0).toString(16);
}
function fromBits(high, low) {
  view.setUint32(0, high);
  view.setUint32(4, low);
  return view.getFloat64(0);
}

// --- numbers ---------------------------------------------------------------

function anyDouble() {
  switch (random(6)) {
    case 0:
      return fromBits(random(2 ** 32), random(2 ** 32));
    case 1:
      return random(2 ** 32) * 10 ** (random(60) - 30);
    case 2:
      return (random(2) ? 1 : -1) * (2 ** random(80) + random(5) - 2);
    case 3:
      return random(1e6) / 10 ** random(9);
    case 4:
      return Number(`${1 + random(9)}e${random(640) - 330}`);
    default:
      return Number(`${digits(1 + random(22))}.${digits(1 + random(22))}`);
  }
}
const doubles = [0, -0, 1, -1, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 1e21, 1e20, 999999999999999900000, 1e-6, 1e-7, 1.5e-7, 0.1, 0.3, 123456789012345680000];
for (let power = -330; power <= 309; power += 1) doubles.push(Number(`1e${power}`), Number(`-9.5e${power}`));
doubles.push(...many(1200, anyDouble), Infinity, -Infinity, NaN);
write("number-text", doubles.map((number) => [bits(number), String(number)]));

// --- number tokens and JSON texts ------------------------------------------

function numberToken() {
  const sign = pick(["", "", "-"]);
  const whole = pick(["0", "1", String(1 + random(9)) + digits(random(19)), String(1 + random(9)) + digits(random(5))]);
  const fraction = pick(["", "", "." + digits(1 + random(20)), "." + "0".repeat(random(9)) + digits(1 + random(4)), ".0"]);
  const exponent = pick(["", "", "", "e" + random(30), "E+" + random(310), "e-" + random(330), "e0", "e400", "e-400"]);
  return sign + whole + fraction + exponent;
}
const blank = () => pick(["", "", "", " ", "\n", "\t ", "\r\n"]);
const escapes = ["\\n", "\\r", "\\t", "\\b", "\\f", "\\/", "\\\\", '\\"', "\\u0041", "\\u00e9", "\\uD83D\\uDE00", "\\ud800", "\\uDFFF", "\\udc00\\ud800", "\\u0000", "\\u001f", "\\u2028", "\\uffff", "\\u007f", "\\uFEFF"];
const plain = ["a", "b", " ", "0", "é", "😀", "\u2028", "\u007f", "\u0085", "\ufeff", "'", "[", "{", ",", "\ufffd", "𝒳"];
const stringToken = (most = 8) => `"${many(random(most), () => (random(3) ? pick(plain) : pick(escapes))).join("")}"`;
const names = ["a", "b", "0", "1", "2", "10", "01", "-1", "1.5", "4294967294", "4294967295", "4294967296", "__proto__", "toString", "constructor", "length", "", "\\u0061", "\\u0031", "é", "\\ud800", "\\ud801", "99999999999", "1e3"];
const keyToken = () => (random(8) ? `"${pick(names)}"` : stringToken(4));
function valueText(depth) {
  const kind = random(depth > 0 ? 9 : 6);
  const list = (open, item, close) => open + blank() + many(random(6), item).join(blank() + "," + blank()) + blank() + close;
  if (kind < 2) return numberToken();
  if (kind < 4) return stringToken();
  if (kind < 6) return pick(["null", "true", "false", "0", '""']);
  if (kind < 7) return list("[", () => valueText(depth - 1), "]");
  return list("{", () => keyToken() + blank() + ":" + blank() + valueText(depth - 1), "}");
}
// One change makes most texts wrong, and some not.
function damaged(text) {
  const at = random(text.length + 1);
  const junk = ["", ",", '"', "\\", "}", "]", "0", ".", "e", "-", "+", "\u0000", "\n", "\ufeff", "\u00a0", "\v", "NaN", "//", "'", "\\u12", "\\x41", "tru"];
  // A file is decoded before it is parsed, so no half of a cut pair stays.
  return (text.slice(0, at) + pick(junk) + text.slice(at + random(3))).toWellFormed();
}
const reparsed = (text) => attempt(() => JSON.stringify(JSON.parse(text)));
const texts = ["", " ", "-", "-0", "01", "1.", ".5", "+1", "1e", "1e+", "Infinity", "NaN", "undefined", "'a'", '"\t"', '"\u001f"', '"\u007f"', "\ufeff1", "1\ufeff", "\u00a01", "1\v", "[1,]", '{"a":1,}', "{a:1}", "nul", "nulll", "1 2", '"\\v"', '"\\u00g0"', '"\\U0041"', "[]]", "{}{}", "true ", "\r\n1\t", '{"__proto__":1,"a":2,"__proto__":3}', "1e400", "-1e400", "1e-400", "-1e-400", '"a\nb"', "[ ]", "{ }", '{"a" :1 }'];
texts.push(...many(900, numberToken), ...many(1800, () => valueText(4)), ...many(1000, () => damaged(valueText(2))));
write("json", texts.map((text) => [text, reparsed(text)]));

// --- coercion, truth, equality ---------------------------------------------

const numeric = ["", " ", "0x10", "0X1f", "0o17", "0b101", "0x", "0xg", "-0x1", "+0x1", "1_0", "1e3", "1e", ".5", "5.", ".", "+5", "-5", "--5", "+", "-", "Infinity", "-Infinity", "+Infinity", "infinity", "inf", "NaN", "nan", "-0", "00012", "1,2", "0x1fffffffffffff", "0x20000000000001", "0x20000000000002", "0x20000000000003", "0x3fffffffffffff", "0b" + "1".repeat(70), "0x" + "f".repeat(300), "0x8000000000000400", "0x8000000000000401", "0x80000000000004000000000000000001", "0o7777777777777777777777", "1e1000", "-1e1000", "1e-1000", "\u00a012\ufeff", "\u200b1", "12\u0000", "\u2028 3 \u2029", "1 2", "١", "1n", "0.1e-2", "1.e2", ".e2", "1e2.5", "12px"];
const numberText = () => blank() + pick([numberToken(), numberToken(), pick(numeric), pick(["0x", "0b", "0o", "0X"]) + digits(random(25))]) + blank();
const coerced = ["null", "true", "false", "[]", "{}", "[null]", "[[]]", "[[],[]]", "[1]", "[1,2]", '["2"]', '[[["3"]]]', "[true]", '{"toString":1}', '{"valueOf":1}', '[{"toString":null}]', '[{"\\u0074oString":1}]', '{"a":{"toString":1}}', "[[null,[null]],null]", '["a","b"]', "[{}]", "[1e21,0.1,-0]", '{"__proto__":null}', '["\\ud800"]', "[ 1 , [ 2 ] ]"];
coerced.push(...numeric.map((text) => JSON.stringify(text)), ...many(300, () => JSON.stringify(numberText())), ...many(700, () => valueText(3)));
write("coerce", coerced.map((text) => {
  const value = JSON.parse(text);
  const number = attempt(() => bits(Number(value)));
  return [text, attempt(() => JSON.stringify(String(value))), number, Boolean(value) ? 1 : 0];
}));

const pool = ["0", "-0", "0.0", "1", "1.0", "10e-1", '"1"', '"a"', '"\\u0061"', '"\\ud800"', '"\\ud801"', '"\ufffd"', '"\\ufffd"', "null", "true", "false", '""', '"null"', "1e400", "-1e400", "2e400", "9007199254740993", "9007199254740992", "1e-400", '"\\ud83d\\ude00"', '"😀"', "{}", "[]", '"undefined"'];
write("same", pool.flatMap((a) => pool.map((b) => [a, b, JSON.parse(a) === JSON.parse(b) ? 1 : 0])));

// --- text -------------------------------------------------------------------

const spaces = [];
for (let code = 0; code < 0x10000; code += 1) if (String.fromCharCode(code).trim() === "") spaces.push(code);
write("spaces", [spaces]);

const around = () => many(random(4), () => pick([" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\ufeff", "\u2028", "\u3000", "\u1680", "\u2009", "\u200b", "\u0085", "\u180e", "\u001c", "x", "\ud800", "\udc00", "é", "\u0000"])).join("");
write("trim", many(500, () => around() + pick(["", "a", "a b", "\ud83d", "😀"]) + around()).map((text) => [JSON.stringify(text), JSON.stringify(text.trim())]));

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const byteRuns = [[0x41], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0xc3], [0xe2, 0x82], [0xe2], [0xf0, 0x9f, 0x98], [0xf0, 0x9f], [0x80], [0xbf], [0xc0, 0x80], [0xc1], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80], [0xf5], [0xff], [0xfe], [0xef, 0xbb, 0xbf], [0xe0, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80], [0xf8, 0x88, 0x80], [0x22], [0xe1, 0x80]];
const bytes = many(1200, () => Uint8Array.from(random(4) ? many(1 + random(5), () => pick(byteRuns)).flat() : many(1 + random(6), () => random(256))));
write("utf8", bytes.map((row) => [Buffer.from(row).toString("hex"), decoder.decode(row)]));

// --- dates ------------------------------------------------------------------

const two = (below) => String(random(below)).padStart(2, "0");
const year = () => pick([String(1900 + random(250)), digits(4), "+" + digits(6), "-" + digits(6), "+00" + (1900 + random(200)), "-000000", digits(2), digits(1 + random(8))]);
const zone = () => pick(["Z", "z", "", "", `+${two(26)}:${two(62)}`, `-${two(26)}${two(62)}`, "+0" + random(9), " GMT", "UTC", " Z"]);
const fraction = () => pick(["", "", "." + digits(3), "." + digits(1 + random(14)), ".000" + digits(random(12)), ".", ",5"]);
const clock = () => `${two(26)}:${two(62)}` + pick(["", `:${two(62)}${fraction()}`]);
const iso = () => year() + pick(["", "-" + two(14), `-${two(14)}-${two(33)}`, `-${two(13)}-${two(32)}`, `-${two(13)}-${two(32)}`]) + pick(["", pick(["T", "t", " "]) + clock() + zone()]);
const usual = () => `20${two(100)}-${String(1 + random(12)).padStart(2, "0")}-${String(1 + random(31)).padStart(2, "0")}T${two(24)}:${two(60)}:${two(60)}.${digits(3)}Z`;
const words = ["jan", "Feb", "MARCH", "april", "May", "juneteenth", "Jul", "aug", "sept", "October", "nov", "dec", "Mon", "Thu,", "am", "PM", "pm", "T", "Z", "z", "UT", "UTC", "gmt", "est", "EDT", "cst", "CDT", "mst", "MDT", "pst", "PDT", "of", "x", "é", "[an", "Ja\u006e", "JAN\u2028", "utcx", "amx", "janu😀"];
const marks = [" ", " ", " ", "-", "/", ":", ".", ",", "+", "(", ")", "(a)", "(a(b)c)", "::", " - ", "\t", "\u00a0", "\u2028", "\ufeff", "\u0000", "_", "@", "'"];
const piece = () => pick([() => String(random(70)), () => digits(1 + random(5)), () => String(1950 + random(120)), () => pick(words), clock, () => pick(["+", "-"]) + digits(1 + random(5)), () => `GMT${pick(["+", "-"])}${random(2e6)}${pick(["", ":00", ":", ":75"])}`])();
const loose = () => many(1 + random(6), () => piece() + pick(marks)).join("");
const human = () => pick([
  () => `${pick(words)} ${1 + random(32)}, ${1950 + random(120)} ${random(14)}:${two(60)} ${pick(["am", "pm", ""])}`,
  () => `${1 + random(13)}/${1 + random(33)}/${pick([digits(2), String(1950 + random(120))])}${pick(["", " " + clock()])}`,
  () => `${pick(["Sun", "Tue", "Tuesday"])} ${pick(words.slice(0, 12))} ${two(32)} ${1950 + random(120)} ${clock()} GMT${pick(["", "+0100", "-8", "+05:30"])}${pick(["", " (Some Zone)"])}`,
  () => `${1 + random(31)} ${pick(words.slice(0, 12))} ${digits(random(5))} ${clock()} ${zone()}`,
  () => `${1950 + random(120)}-${1 + random(13)}-${1 + random(32)} ${clock()}${zone()}`,
])();
const mangled = (text) => {
  const at = random(text.length + 1);
  return text.slice(0, at) + pick([...marks, pick(words), digits(1)]) + text.slice(at + random(2));
};
const dates = ["", "0", "1", "12", "13", "31", "32", "49", "50", "99", "100", "12345", "+275760-09-13T00:00:00.000Z", "+275760-09-13T00:00:00.001Z", "-271821-04-20T00:00:00Z", "-271821-04-19T23:59:59.999Z", "1/1/2000 10:30 GMT+1193047:00", "1/1/2000 10:30 GMT+99999999:00", "1/1/2000\u0000zzz", "(\u0000) 1/1/2000", "2000(\u0000", "\ud800 1/1/2000", "1/1/2000 \ud800", "1 2 3 4", "1:2:3:4:5 1/1/2000", "1/1/2000 1:2:3.4.5", "1/1/2000 1:2:3:4.5"];
dates.push(...many(500, usual), ...many(1600, iso), ...many(1500, loose), ...many(1200, human), ...many(700, () => mangled(usual())), ...many(700, () => mangled(human())));
write("date-parse", dates.map((text) => [JSON.stringify(text), Number.isNaN(Date.parse(text)) ? null : Date.parse(text)]));

const times = [0, -1, 8.64e15, -8.64e15, 8.64e15 + 1, -8.64e15 - 1, -62167219200000, -62167219200001, 253402300799999, 253402300800000, 951782400000, 951868800000, -2203891200000];
// The days around the leap day of years that have one, and of those that do not.
for (const year of [-271820, -400, -100, -4, 0, 1600, 1700, 1900, 2000, 2024, 2100, 9999, 10000, 275760]) for (const day of [0, 58, 59, 60, 364, 365]) times.push(Date.UTC(2000, 0, 1) + (Math.floor((year - 2000) * 365.2425) + day) * 86400000);
times.push(...many(600, () => Math.floor((random(2 ** 32) - 2 ** 31) * 2000 + random(2000))), ...many(400, () => (random(2) ? 1 : -1) * (random(2 ** 32) * 2e6 + random(2e6))));
write("iso-string", times.map((ms) => [ms, attempt(() => new Date(ms).toISOString())]));

const timed = [...coerced.slice(0, 25), "0", "1.9", "-1.9", "8.64e15", "8640000000000000.5", "8640000000000001", "1e400", '"2026"', '["2026-01-01"]', "[2026]", "[2026,1]", "[2026,1,2]", ...many(100, numberToken)];
write("time", timed.map((text) => [text, attempt(() => new Date(JSON.parse(text)).getTime()), attempt(() => (new Date(JSON.parse(text)), 1))]));
