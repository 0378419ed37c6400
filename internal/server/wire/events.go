package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// MaxBatch is how many events go to the accumulator at once: enough that the handoff
// costs nothing per event, few enough that a body of a million tiny events never
// stands in memory as a million slices. The engine lists as many rejections of one
// push as this, so that every one of a batch is told. Stores know the batches of a body by their first event: another
// number is another release's, and a body that one has begun is not known to the other.
const MaxBatch = 1000

// Form is how a body holds its events.
type Form uint8

// The forms.
const (
	Single Form = iota // one JSON value
	Array              // an array, each element an event
	Lines              // NDJSON: a line an event
)

// Events cuts a body into events, a batch at a time.
type Events struct {
	Form Form
	rest []byte
}

// Cut prepares a body that is JSON, or NDJSON when lines is set. Bad is why it is no JSON
// at all; lines are judged one by one, by the accumulator. The events own body from
// then on.
func Cut(body []byte, lines bool, maxDepth int) (Events, Bad) {
	if lines {
		return Events{Lines, body}, Bad{}
	}
	body = Trim(body)
	if len(body) == 0 || body[0] != '[' {
		return Events{Single, body}, Validate(body, maxDepth)
	}
	// The array itself is the request's, not the events'.
	if bad := Validate(body, min(maxDepth+1, MaxDepth)); bad.Is() {
		return Events{}, bad
	}
	return ArrayOf(body), Bad{}
}

// ArrayOf cuts array, a valid JSON array without white space before it, into its elements.
func ArrayOf(array []byte) Events { return Events{Array, array[SkipSpace(array, 1):]} }

// One is the single event raw.
func One(raw []byte) Events { return Events{Single, raw} }

// Next is the next batch, nil at the end. Every event of an array or of lines is a copy
// of its own, so that one kept for long (a latest value) never holds the whole body.
func (e *Events) Next() []json.RawMessage {
	var batch []json.RawMessage
	switch {
	case e.Form == Lines:
		batch = e.lines()
	case e.Form == Array:
		batch = e.items()
	case e.rest != nil:
		batch = []json.RawMessage{e.rest}
		e.rest = nil
	}
	if len(batch) == 0 {
		return nil
	}
	return batch
}

// Skip leaves out the first n events, and returns what is left of the batch that they end in.
func (e *Events) Skip(n int) []json.RawMessage {
	for n > 0 {
		batch := e.Next()
		if batch == nil {
			return nil
		}
		if len(batch) > n {
			return slices.Clip(batch[n:])
		}
		n -= len(batch)
	}
	return nil
}

// Rest is how many events there are still, which are left out.
func (e *Events) Rest() (n int) {
	switch {
	case e.Form == Lines:
		for line := range bytes.SplitSeq(e.rest, []byte{'\n'}) {
			if len(Trim(line)) > 0 {
				n++
			}
		}
	case e.Form == Array:
		for at := 0; at < len(e.rest) && e.rest[at] != ']'; n++ {
			at, _ = SkipValue(e.rest, at, MaxDepth)
			if at = SkipSpace(e.rest, at); at < len(e.rest) && e.rest[at] == ',' {
				at = SkipSpace(e.rest, at+1)
			}
		}
	case e.rest != nil:
		n = 1
	}
	e.rest = nil
	return n
}

func (e *Events) items() []json.RawMessage {
	batch := e.room()
	for len(batch) < MaxBatch && len(e.rest) > 0 && e.rest[0] != ']' {
		end, _ := SkipValue(e.rest, 0, MaxDepth) // valid: checked as a whole before
		batch = append(batch, bytes.Clone(e.rest[:end]))
		end = SkipSpace(e.rest, end)
		if end < len(e.rest) && e.rest[end] == ',' {
			end = SkipSpace(e.rest, end+1)
		}
		e.rest = e.rest[end:]
	}
	return batch
}

func (e *Events) lines() []json.RawMessage {
	batch := e.room()
	for len(batch) < MaxBatch && len(e.rest) > 0 {
		line, rest, _ := bytes.Cut(e.rest, []byte{'\n'})
		e.rest = rest
		if line = Trim(line); len(line) > 0 { // a blank line is no event
			batch = append(batch, bytes.Clone(line))
		}
	}
	return batch
}

// room is an empty batch with room for about as many events as are left; nil when nothing is.
func (e *Events) room() []json.RawMessage {
	if len(e.rest) == 0 {
		return nil
	}
	const small = 64 // bytes: about the least an event has
	return make([]json.RawMessage, 0, min(MaxBatch, len(e.rest)/small+1))
}

// Trim is b without the white space around it.
func Trim(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

// IsLines says whether a content type is NDJSON.
func IsLines(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return false
	}
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return true
	}
	return false
}
