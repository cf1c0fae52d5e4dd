package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"time"
	"unicode"
)

var innerPieces = []string{
	"a", "Z", " ", "/", "é", "日", "😀", "<", ">", "&", "'", "=", "\u007f", "\u0080", "\u00a0", "\u2027", "\u2028", "\u2029", "\u202a", "\ufffd", "\ufeff",
	"\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u0007", "\\u0008", "\\u0009", "\\u000a", "\\u000A", "\\u000b", "\\u000B",
	"\\u000c", "\\u000d", "\\u000e", "\\u001f", "\\u001F", "\\u0020", "\\u0022", "\\u0026", "\\u002f", "\\u003c", "\\u003C", "\\u003e", "\\u005c",
	"\\u007f", "\\u00e9", "\\u00E9", "\\u2028", "\\u2029", "\\ufffd", "\\uFFFF", "\\ud800", "\\udbff", "\\udc00", "\\udfff", "\\ud83d\\ude00",
	"\\uD83D\\uDE00", "\\ud83d", "\\ude00", "\xff", "\x80", "\xe4\xbd", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf", "\xf5", "\xe2\x80",
}

func randomInner(random *rand.Rand, most int) string {
	var inner strings.Builder
	for range random.Intn(most + 1) {
		inner.WriteString(pick(random, innerPieces))
	}
	return inner.String()
}

// A token, the string that it is read as, what `json.Marshal` writes for that,
// and whether `strings.TrimSpace` leaves something of it.
func recordStrings(random *rand.Rand, t *table) {
	add := func(inner string) {
		token := []byte("\"" + inner + "\"")
		var text string
		if err := json.Unmarshal(token, &text); err != nil {
			panic(fmt.Sprintf("%q: %v", token, err))
		}
		written, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		t.row(token, text, string(written), strings.TrimSpace(text) != "")
	}
	add("")
	for unit := range 0x40 {
		add(fmt.Sprintf("\\u%04x", unit))
		add(fmt.Sprintf("\\u%04X", unit))
	}
	for _, one := range innerPieces {
		add(one)
		add("some longer text before " + one + " and behind it")
	}
	for range 900 {
		add(randomInner(random, 6))
	}
	// Blank ones, mostly.
	blanks := []string{" ", "\\t", "\\n", "\\u000b", "\\f", "\u0085", "\u00a0", "\u1680", "\u2003", "\\u2028", "\u202f", "\u205f", "\u3000", "\u200b", "\u180e", "\ufeff", "\\u0000"}
	for range 200 {
		var inner string
		for range 1 + random.Intn(4) {
			inner += pick(random, blanks)
		}
		add(inner)
	}
}

// All runs of characters that are white space: the first and the last of each.
func recordSpaces(_ *rand.Rand, t *table) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		first := r
		for unicode.IsSpace(r) {
			r++
		}
		if r > first {
			t.line(int(first), int(r-1))
		}
	}
}

type keyed struct {
	Skip  *int `json:"skip"`
	Key   *int `json:"key"`
	Tasks *int `json:"tool_calls2"`
}

func fieldOf(key string) any {
	var value keyed
	if err := json.Unmarshal([]byte("{"+key+":1}"), &value); err != nil {
		panic(fmt.Sprintf("%q: %v", key, err))
	}
	switch {
	case value.Skip != nil:
		return "skip"
	case value.Key != nil:
		return "key"
	case value.Tasks != nil:
		return "tool_calls2"
	}
	return nil
}

// A key of an object, and the field that it is read into.
func recordKeys(random *rand.Rand, t *table) {
	add := func(inner string) { t.row([]byte("\""+inner+"\""), fieldOf("\""+inner+"\"")) }
	// Every character that stands for a letter of a key.
	letters := []rune("skipeytoolcalls2_")
	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if r == '"' || r == '\\' || (0xd800 <= r && r < 0xe000) {
			continue
		}
		if key := string(r) + "kip"; fieldOf("\""+key+"\"") != nil || random.Intn(10000) == 0 {
			add(key)
		}
		if key := string(r) + "ey"; fieldOf("\""+key+"\"") != nil {
			add(key)
		}
		for _, letter := range letters {
			if unicode.ToLower(r) == letter || unicode.ToUpper(r) == unicode.ToUpper(letter) {
				add("s" + string(r) + "ip")
				add("tool_call" + string(r) + "2")
			}
		}
	}
	variants := map[rune][]string{
		's': {"s", "S", "ſ", "\\u0073", "\\u017f", "\\u017F", "ß"}, 'k': {"k", "K", "\u212a", "\\u212a", "\\u004b"}, 'i': {"i", "I", "ı", "İ", "\\u0069"},
		'p': {"p", "P"}, 'e': {"e", "E", "é"}, 'y': {"y", "Y"}, '_': {"_", "-", "\\u005f"}, '2': {"2", "\\u0032"}, 'l': {"l", "L", "\xff"},
	}
	for range 400 {
		var inner string
		for _, letter := range pick(random, []string{"skip", "key", "tool_calls2"}) {
			if choices, ok := variants[letter]; ok && random.Intn(3) == 0 {
				inner += pick(random, choices)
			} else {
				inner += string(letter)
			}
		}
		add(inner)
	}
	for _, inner := range []string{"", "ski", "skipp", " skip", "skip ", "skıp", "SKİP", "ke", "keyy", "toolcalls2"} {
		add(inner)
	}
}

// The text between the quotes of a time, how it is formatted, whether it is
// zero, and whether `MarshalJSON` writes it. Null where it is no time.
func recordTimes(random *rand.Rand, t *table) {
	add := func(inner string) {
		var value time.Time
		if err := json.Unmarshal([]byte("\""+inner+"\""), &value); err != nil {
			t.row([]byte(inner), nil)
			return
		}
		_, err := json.Marshal(value)
		t.row([]byte(inner), value.Format(time.RFC3339Nano), value.IsZero(), err == nil)
	}
	for _, inner := range []string{
		"", "null", "0001-01-01T00:00:00Z", "0001-01-01T02:30:00.000+02:30", "0000-12-31T23:00:00-01:00", "0001-01-02T00:00:00,0+24:00",
		"0001-01-02T01:00:00+24:60", "0001-01-01T00:00:01Z", "0001-01-01T00:00:00+01:00", "0001-02-01T00:00:00Z", "0001-01-01T00:00:00.000000001Z",
		"0000-12-30T23:00:00-24:60", "0000-12-31T00:00:00-24:00", "\\u0032026-06-13T18:19:35Z", "2026-06-13T18:19:35Z ", " 2026-06-13T18:19:35Z",
		"2026-06-13t18:19:35Z", "2026-06-13T18:19:35z", "2026-06-13 18:19:35Z", "2026-06-13T18:19Z", "2026-06-13", "20260613T181935Z",
		"2026-06-13T18:19:35+0800", "2026-06-13T18:19:35+08", "2026-06-13T18:19:35UTC", "2026-06-13T18:19:35+08:00:00", "2026-06-13T18:19:35−08:00",
		"12026-06-13T18:19:35Z", "-2026-06-13T18:19:35Z", "+026-06-13T18:19:35Z", "2026-06-13T:19:35Z", "2026-06-13T018:19:35Z", "2026-06-13T1 :19:35Z",
		"1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "9999-12-31T23:59:59.999999999-24:60",
	} {
		add(inner)
	}
	years := []string{"2026", "2024", "2000", "1900", "0000", "0001", "9999", "1969", "226", "20x6"}
	months := []string{"01", "02", "06", "11", "12", "12", "00", "13", "1"}
	days := []string{"01", "02", "13", "28", "29", "30", "31", "00", "32", "9"}
	hours := []string{"00", "8", "0", "09", "18", "23", "24", "1", "x1"}
	minutes := []string{"00", "00", "19", "59", "60", "5"}
	seconds := []string{"00", "00", "35", "59", "60", "5"}
	fractions := []string{"", "", "", ".1", ".12", ".120", ".000", ".000000001", ".123456789", ".1234567899", ".0000000001", ",5", ".", ",", ".x", ".5x", "..5"}
	zones := []string{"Z", "Z", "+00:00", "-00:00", "+08:00", "-03:30", "+05:45", "+23:59", "-23:59", "+24:00", "-24:00", "+23:60", "+24:60", "-24:60", "+25:00", "+00:61", "+00:60", "+1:00", "+01:0", "+01:00x", "", "z", "+0100"}
	often := func(from []string) string {
		if random.Intn(3) > 0 {
			return from[random.Intn(2)]
		}
		return pick(random, from)
	}
	for range 1200 {
		add(often(years) + "-" + often(months) + "-" + often(days) + "T" + often(hours) + ":" + often(minutes) + ":" + often(seconds) + pick(random, fractions) + pick(random, zones))
	}
	valid := "2026-06-13T18:19:35.12+08:00"
	for at := range valid {
		add(valid[:at])
		add(valid[:at] + valid[at+1:])
		for _, other := range "09:-+T.x " {
			add(valid[:at] + string(other) + valid[at+1:])
		}
	}
}
