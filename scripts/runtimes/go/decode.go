package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"time"
)

// The types that the tests declare with the same tags.
type outer struct {
	Name  string          `json:"name"`
	Note  string          `json:"note,omitempty"`
	Count int64           `json:"count"`
	When  *time.Time      `json:"when,omitempty"`
	Start time.Time       `json:"start"`
	Raw   json.RawMessage `json:"raw"`
	Tags  []string        `json:"tags,omitempty"`
	Must  []string        `json:"must"`
	Inner *inner          `json:"inner,omitempty"`
	Items []inner         `json:"items,omitempty"`
}

type inner struct {
	Key  string `json:"key"`
	Kind string `json:"kind,omitempty"`
	Next *inner `json:"next,omitempty"`
}

// What of it `json.Marshal` writes in the tests.
type written struct {
	Name  string     `json:"name"`
	Note  string     `json:"note,omitempty"`
	When  *time.Time `json:"when,omitempty"`
	Tags  []string   `json:"tags,omitempty"`
	Inner *inner     `json:"inner,omitempty"`
	Items []inner    `json:"items,omitempty"`
}

func someString(random *rand.Rand) string {
	return pick(random, []string{`"a"`, `"b"`, `"c"`, `""`, `"<"`, `"\u003c"`, `"\/"`, `"é"`, `"\ud800"`, `"x y"`})
}

// A value of the type that is wanted; sometimes of another one.
func valueOf(random *rand.Rand, kind string, depth int) string {
	if random.Intn(40) == 0 {
		return pick(random, []string{"5", "true", "{}", "[]", `"x"`, "1.5", "[1]", "[{}]"})
	}
	if random.Intn(6) == 0 {
		return "null"
	}
	list := func(kind string) string {
		var items []string
		for range random.Intn(4) {
			items = append(items, valueOf(random, kind, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	switch kind {
	case "string":
		return someString(random)
	case "int":
		return pick(random, []string{"0", "-0", "1", "-7", "42", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.0", "1e2", `"1"`})
	case "time":
		return pick(random, []string{`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.120+08:00"`, `"2026-01-02T3:04:05Z"`, `"0001-01-01T00:00:00Z"`, `"2026-01-02"`, `"\u0032026-01-02T03:04:05Z"`, "1"})
	case "raw":
		return pick(random, []string{"1", `"a"`, `{"a": [1, 2]}`, "[ ]", "null", "1e999"})
	case "strings":
		return list("string")
	case "inners":
		return list("inner")
	}
	if depth <= 0 {
		return "{}"
	}
	fields := [][2]string{{"key", "string"}, {"kind", "string"}, {"next", "inner"}, {"other", "raw"}}
	return object(random, fields, random.Intn(4), depth)
}

func object(random *rand.Rand, fields [][2]string, members int, depth int) string {
	var items []string
	for range members {
		field := pick(random, fields)
		key := field[0]
		switch random.Intn(12) {
		case 0:
			key = strings.ToUpper(key)
		case 1:
			key = fmt.Sprintf("\\u%04x", key[0]) + key[1:]
		case 2:
			key = strings.ReplaceAll(strings.ReplaceAll(key, "s", "ſ"), "k", "\u212a")
		}
		items = append(items, "\""+key+"\":"+valueOf(random, field[1], depth-1))
	}
	return "{" + strings.Join(items, ",") + "}"
}

// An object, and what is read from it: what of it is written again, the number,
// the raw value, the time that is no pointer, and the list that may be null.
// Null where it is not decoded.
func recordDecode(random *rand.Rand, t *table) {
	add := func(text string) {
		var value outer
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.row([]byte(text), nil)
			return
		}
		line, err := json.Marshal(written{value.Name, value.Note, value.When, value.Tags, value.Inner, value.Items})
		if err != nil {
			panic(err)
		}
		must := append([]string{}, value.Must...)
		t.row([]byte(text), string(line), fmt.Sprint(value.Count), string(value.Raw), value.Start.Format(time.RFC3339Nano), must)
	}
	for _, text := range []string{"null", " null ", "{}", "[]", "1", "\"a\"", "true", "{}x", "{} {}", "", "{", "\xef\xbb\xbf{}", "{\"unknown\":{\"name\":5}}"} {
		add(text)
	}
	fields := [][2]string{
		{"name", "string"}, {"note", "string"}, {"count", "int"}, {"when", "time"}, {"start", "time"}, {"raw", "raw"},
		{"tags", "strings"}, {"must", "strings"}, {"inner", "inner"}, {"items", "inners"}, {"other", "raw"},
	}
	for range 350 {
		add(object(random, fields, 1+random.Intn(6), 3))
	}
	// The same field again and again: what is left of the values before.
	for _, again := range [][][2]string{{{"tags", "strings"}}, {{"inner", "inner"}}, {{"items", "inners"}}, {{"must", "strings"}, {"tags", "strings"}}, {{"when", "time"}, {"start", "time"}}} {
		for range 90 {
			add(object(random, again, 2+random.Intn(3), 3))
		}
	}
}
