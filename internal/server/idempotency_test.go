package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestIdempotency(t *testing.T) {
	t.Parallel()
	ctl := newFake()
	s := newServer(t, ctl, Config{})
	push := func(key, body string, headers ...string) *exchange {
		t.Helper()
		return do(t, s, "POST", events, strings.NewReader(body), append(headers, "Idempotency-Key: "+key)...)
	}
	first := push("k1", `[1,2]`)
	if x := push("k1", `[1,2]`); x.status != 200 || !bytes.Equal(x.body, first.body) ||
		x.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %d %v %s", x.status, x.header, x.body)
	}
	if x := push("k1", `[1,3]`); x.code(t) != "idempotency_mismatch" || x.status != 422 {
		t.Errorf("other body: %d %s", x.status, x.body)
	}
	if x := push("k1", `[1,2]`, ndjson); x.code(t) != "idempotency_mismatch" {
		t.Errorf("the same body as NDJSON: %d %s", x.status, x.body)
	}
	if x := push("k2", `[1,2]`); x.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another key was taken for the first")
	}
	// A refusal is remembered too; a body that is no JSON was never a push.
	bad := push("k3", `{"a":1,"a":2}`)
	if x := push("k3", `{"a":1,"a":2}`); bad.status != 400 || x.status != 400 ||
		x.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("refusal: %d, then %d %v", bad.status, x.status, x.header)
	}
	if x := push("k4", "{"); x.status != 400 {
		t.Errorf("got %d", x.status)
	}
	if x := push("k4", "1"); x.status != 200 {
		t.Errorf("a key of a body that was no push is taken: %d %s", x.status, x.body)
	}
	for _, key := range []string{"", "ä", strings.Repeat("k", 256)} {
		if x := push(key, "1"); x.code(t) != "invalid_idempotency_key" {
			t.Errorf("key %q: %d", key, x.status)
		}
	}
	if x := push("k5", "1", "Idempotency-Key: k6"); x.code(t) != "invalid_idempotency_key" {
		t.Errorf("two keys: %d", x.status)
	}
	if got, _, _ := ctl.seen(); !slices.Equal(got, []string{"1", "2", "1", "2", "1"}) {
		t.Errorf("events %q", got)
	}
	// A graph that was deleted begins anew.
	do(t, s, "DELETE", "/v1/graphs/g?state=delete", nil)
	if x := push("k1", `[1,3]`); x.status != 200 || x.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("after the graph was deleted: %d %s", x.status, x.body)
	}
}

// TestIdempotencyBusy: the same key while the first request is under way is a conflict; a
// panic frees the key.
func TestIdempotencyBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctl := newFake()
		ctl.full = true
		s := newServer(t, ctl, Config{})
		done := make(chan *exchange)
		go func() { done <- do(t, s, "POST", events, strings.NewReader("1"), "Idempotency-Key: k") }()
		synctest.Wait()
		if x := do(t, s, "POST", events, strings.NewReader("1"), "Idempotency-Key: k"); x.code(
			t) != "idempotency_in_progress" || x.status != 409 {
			t.Errorf("got %d %s", x.status, x.body)
		}
		ctl.open()
		if x := <-done; x.status != 200 {
			t.Errorf("the first: %d %s", x.status, x.body)
		}
		for range 2 {
			if x := do(t, s, "POST", events, strings.NewReader(`{"panic":true}`),
				"Idempotency-Key: p"); x.status != 500 {
				t.Errorf("got %d %s", x.status, x.body)
			}
		}
	})
}
