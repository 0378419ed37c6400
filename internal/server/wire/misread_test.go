package wire

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// A body of the wrong form is told in the words of JSON, and an unknown member with those there are.
func TestMisread(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"mode":["force"]}`:     "mode: want text, got a list",
		`{"replace":"yes"}`:      "replace: want true or false, got text",
		`{"cache":1}`:            "cache: want an object, got a number",
		`{"mode":"force","x":1}`: `unknown field "x"; there are mode, `,
		// What encoding/json would let pass.
		`{"Mode":"force"}`:                     `unknown field "Mode"; there are mode, `,
		`{"mode":"force","only_changed":null}`: "only_changed: want true or false, got null",
		`{"mode":"with","cache":null}`:         "cache: want an object, got null",
	} {
		var req api.FireRequest
		err := DecodeObject([]byte(body), 8, &req)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
	var letters api.LettersRequest // its filters are embedded
	err := DecodeObject([]byte(`{"foo":1}`), 8, &letters)
	if err == nil || !strings.Contains(err.Error(), "there are code, stage,") ||
		!strings.Contains(err.Error(), ", ids, all,") {
		t.Errorf("got %v", err)
	}
	if err := DecodeObject([]byte(`{"ids":null,"all":true}`), 8, &letters); err != nil { // the document allows it
		t.Error(err)
	}
	err = DecodeObject([]byte(`{"since":3}`), 8, &letters)
	if err == nil || !strings.Contains(err.Error(), "since: want text, got a number") ||
		strings.Contains(err.Error(), "LetterChoice") {
		t.Errorf("an embedded member: got %v", err)
	}
	var back struct {
		Revision int64 `json:"revision"`
	}
	err = DecodeObject([]byte(`{"revision":1.5}`), 8, &back)
	if err == nil || !strings.Contains(err.Error(), "revision: want a whole number of 64 bits, got 1.5") {
		t.Errorf("a fraction: got %v", err)
	}
}
