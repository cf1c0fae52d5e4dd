// Records what Go itself answers, as tables for the tests of src/runtimes/go.
//
//	go run . FOLDER
//
// Each table is a file of lines, each line a JSON array: the input, then the
// answers. Bytes that are not UTF-8 stand as {"hex": "…"}. The inputs come from
// a generator with a fixed seed, so that the same Go writes the same tables.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"unicode/utf8"
)

// A table of rows without repetitions.
type table struct {
	out  bytes.Buffer
	seen map[string]bool
	rows int
}

// Writes a row; bytes are made into cells.
func (t *table) row(input []byte, answers ...any) {
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	if t.seen[string(input)] {
		return
	}
	t.seen[string(input)] = true
	t.rows++
	t.line(append([]any{input}, answers...)...)
}

func (t *table) line(cells ...any) {
	for i, cell := range cells {
		if raw, ok := cell.([]byte); ok {
			cells[i] = cellOf(raw)
		}
	}
	t.out.Write(plainJSON(cells))
	t.out.WriteByte('\n')
}

func cellOf(raw []byte) any {
	if utf8.Valid(raw) {
		return string(raw)
	}
	return map[string]string{"hex": hex.EncodeToString(raw)}
}

func plainJSON(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func pick[T any](random *rand.Rand, from []T) T {
	return from[random.Intn(len(from))]
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER")
		os.Exit(2)
	}
	tables := map[string]func(*rand.Rand, *table){
		"syntax":  recordSyntax,
		"depth":   recordDepth,
		"strings": recordStrings,
		"times":   recordTimes,
		"keys":    recordKeys,
		"spaces":  recordSpaces,
		"decode":  recordDecode,
		"compact": recordCompact,
		"lines":   recordLines,
	}
	for name, record := range tables {
		var t table
		record(rand.New(rand.NewSource(16)), &t)
		write(name+".jsonl", t.out.Bytes())
	}
	write("VERSION", []byte(runtime.Version()+"\n"))
}

func write(name string, content []byte) {
	if err := os.WriteFile(filepath.Join(os.Args[1], name), content, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
