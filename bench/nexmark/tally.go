package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
)

// A tally counts what comes out of a query, whatever its order: the values and the sum of their hashes. Numbers are
// equal when they are to the bit of a float, whole ones up to 2^53.
type tally struct {
	seed maphash.Seed
	// fields are those that count: of the first value that the plain program puts out.
	fields map[string]bool
	newest func(value map[string]any) string
	last   map[string]uint64 // with newest: the hashes of those
	n      int64
	sum    uint64
	// look is shown each value that counts, without newest; nil for nobody.
	look func(text []byte)
	rest []byte // of a line
}

// tallies are one for the plain program, which has to be first, and one for graphd.
func tallies(q *query) (plain, graphd *tally) {
	seed := maphash.MakeSeed()
	plain = &tally{seed: seed, fields: map[string]bool{}, newest: q.newest, last: map[string]uint64{}}
	return plain, &tally{seed: seed, fields: plain.fields, newest: q.newest, last: map[string]uint64{}}
}

// plain takes a value of the plain program.
func (t *tally) plain(line []byte) error {
	var value map[string]any
	if err := json.Unmarshal(line, &value); err != nil {
		return fmt.Errorf("a plain program writes %.200q: %w", line, err)
	}
	if t.n == 0 {
		for name := range value {
			t.fields[name] = true
		}
	}
	return t.add(value)
}

// Write takes lines of output, in pieces.
func (t *tally) Write(data []byte) (int, error) {
	t.rest = append(t.rest, data...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte{'\n'})
		if !whole {
			t.rest = append(t.rest[:0:0], line...)
			return len(data), nil
		}
		var out struct{ Value map[string]any }
		if err := json.Unmarshal(line, &out); err != nil {
			return 0, fmt.Errorf("line of output %.200q: %w", line, err)
		}
		for name := range out.Value {
			if !t.fields[name] {
				delete(out.Value, name)
			}
		}
		if err := t.add(out.Value); err != nil {
			return 0, err
		}
		t.rest = rest
	}
}

func (t *tally) add(value map[string]any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	hash := maphash.Bytes(t.seed, text)
	if t.newest != nil {
		of := t.newest(value)
		before, again := t.last[of]
		t.last[of] = hash
		if again {
			t.sum += hash - before
			return nil
		}
	} else if t.look != nil {
		t.look(text)
	}
	t.n++
	t.sum += hash
	return nil
}

// differs says how the two are not the same; "" when they are.
func (t *tally) differs(from *tally) string {
	if t.n == from.n && t.sum == from.sum {
		return ""
	}
	return fmt.Sprintf("%d values and %d from the plain program, which are not the same", t.n, from.n)
}
