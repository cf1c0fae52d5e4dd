package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand"
	"strings"
)

var pieces = []string{
	"{", "}", "[", "]", ",", ":", " ", "\n", "\t", "\r", "\f", "\v", "\u00a0", "\"a\"", "\"\"", "\"\\n\"", "\"\\u00e9\"", "\"\\ud83d\"", "\"é\"",
	"null", "true", "false", "nul", "tru", "nulll", "NaN", "Infinity", "-Infinity", "0", "-0", "1", "-1", "01", "1.5", "1.", ".5", "-.5", "1e5", "1E+5",
	"1e-5", "1e", "1e+", "+1", "--1", "0x1", "1_0", "123456789012345678901234567890", "1e999", "\"a", "\"\\", "\"\\u12", "\"\\x\"", "\"\\'\"", "\"\\u00g0\"",
	"\"\\U0041\"", "\"\t\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"", "\xff", "\xef\xbb\xbf", "'a'", "//", "/*", "a", "\x00",
}

// What `json.Unmarshal` says of the syntax: "ok", "end" for "unexpected end of
// JSON input", or "error".
func syntax(text []byte) string {
	var value json.RawMessage
	switch err := json.Unmarshal(text, &value); {
	case err == nil:
		return "ok"
	case err.Error() == "unexpected end of JSON input":
		return "end"
	default:
		return "error"
	}
}

// A value that is valid, and may be nested.
func randomValue(random *rand.Rand, depth int) string {
	space := func() string { return pick(random, []string{"", "", "", " ", "\n", "\t ", "\r\n"}) }
	switch kind := random.Intn(10); {
	case kind < 2 && depth > 0:
		var items []string
		for range random.Intn(4) {
			items = append(items, space()+randomValue(random, depth-1)+space())
		}
		return "[" + strings.Join(items, ",") + "]"
	case kind < 5 && depth > 0:
		var items []string
		for range random.Intn(4) {
			items = append(items, space()+"\""+randomInner(random, 3)+"\""+space()+":"+space()+randomValue(random, depth-1)+space())
		}
		return "{" + strings.Join(items, ",") + space() + "}"
	case kind < 8:
		return "\"" + randomInner(random, 4) + "\""
	default:
		return pick(random, []string{"null", "true", "false", "0", "-0", "1.5", "-1e5", "1E+5", "12", "1e999", "0.10"})
	}
}

// Objects and arrays with a mark too many, too few or in the wrong place.
var misplaced = []string{
	"[1,]", "[,]", "[,1]", "[1,,2]", "[1 2]", "[1", "[1,", "[", "]", "[}", "[1}", "[1:2]", "[[1,]", "[]]", "[] []", "[],", "{,", "{,}", "{\"a\"", "{\"a\"}",
	"{\"a\":", "{\"a\":}", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{\"a\":1,\"b\"}", "{\"a\" 1}", "{\"a\",1}", "{\"a\":1]", "{\"a\":1 \"b\":2}", "{\"a\"::1}",
	"{\"a\":1:2}", "{1:2}", "{null:1}", "{a:1}", "{'a':1}", "{[]:1}", "{\"a\":1}}", "{} {", "{}{}", "{\"a\":tru ", "{\"a\":nul", "{\"a\":-", "{\"a\":1.", "{\"a\":1e",
	"{\"a\":1e+", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":\"\\u", "{\"a\":\"\\u00e", "{\"a\":\"\\u00e9", "[01", "[-a", "[1.x", "[1ex", "nulx", "1 2", " ", "\n", " 1 ", "\t[\r\n]\t",
}

func recordSyntax(random *rand.Rand, t *table) {
	for _, text := range misplaced {
		t.row([]byte(text), syntax([]byte(text)))
	}
	for _, one := range pieces {
		t.row([]byte(one), syntax([]byte(one)))
		for _, two := range pieces {
			if random.Intn(8) == 0 {
				t.row([]byte(one+two), syntax([]byte(one+two)))
			}
		}
	}
	for range 400 {
		var text string
		for range 2 + random.Intn(6) {
			text += pick(random, pieces)
		}
		t.row([]byte(text), syntax([]byte(text)))
	}
	for range 700 {
		text := []byte(randomValue(random, 2))
		t.row(text, syntax(text))
		if len(text) < 2 {
			continue
		}
		// Cut off, a byte less, or another byte.
		changed := bytes.Clone(text)
		at := random.Intn(len(text))
		switch random.Intn(3) {
		case 0:
			changed = changed[:at]
		case 1:
			changed = append(changed[:at], changed[at+1:]...)
		default:
			changed[at] = pick(random, []byte("{}[],:\"\\ 0-.eEnx\x00\xff"))
		}
		t.row(changed, syntax(changed))
	}
}

// Nesting up to and beyond the limit: what opens, how often, and the answer.
func recordDepth(_ *rand.Rand, t *table) {
	for _, unit := range [][2]string{{"[", "]"}, {"{\"a\":", "}"}, {"[{\"a\":", "}]"}} {
		for _, times := range []int{1, 4999, 5000, 5001, 9998, 9999, 10000, 10001, 10002} {
			whole := strings.Repeat(unit[0], times) + "1" + strings.Repeat(unit[1], times)
			cut := strings.Repeat(unit[0], times)
			t.line(unit[0], unit[1], times, syntax([]byte(whole)), syntax([]byte(cut)))
		}
	}
}

func recordCompact(random *rand.Rand, t *table) {
	for range 500 {
		text := []byte(randomValue(random, 2))
		var out bytes.Buffer
		if json.Compact(&out, text) == nil && !bytes.Equal(out.Bytes(), text) {
			t.row(text, bytes.Clone(out.Bytes()))
		}
	}
}

// The lines of a text for a scanner with a buffer of 16 bytes, and whether it
// ends with "bufio.Scanner: token too long".
func recordLines(random *rand.Rand, t *table) {
	pieces := []string{"a", "bc", "\n", "\n", "\r\n", "\r", "\n\r", "\r\r\n", "", " ", "0123456789", "0123456789abcd", "0123456789abcde", "0123456789abcdef", "é\xff"}
	for range 400 {
		var text string
		for range random.Intn(7) {
			text += pick(random, pieces)
		}
		scanner := bufio.NewScanner(strings.NewReader(text))
		scanner.Buffer(nil, 16)
		lines := []any{}
		for scanner.Scan() {
			lines = append(lines, cellOf(bytes.Clone(scanner.Bytes())))
		}
		message := ""
		if err := scanner.Err(); err != nil {
			message = err.Error()
		}
		t.row([]byte(text), lines, message)
	}
}
