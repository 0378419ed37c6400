package once

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"
)

// TestIdempotencyBounds: keys are forgotten after a day, and the oldest when there are too many.
func TestIdempotencyBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	one := func(key string) ID { return ID{"default", "g", "a", key} }
	answer := &Reply{Status: 200, ContentType: "application/json", Body: []byte("{}")}
	d := New()
	take := func(id ID, at time.Time) *Claim {
		t.Helper()
		c, err := d.Claim(id, sha256.Sum256(nil), at)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	d.Finish(take(one("a"), now), answer)
	d.Finish(take(one("b"), now.Add(time.Hour)), answer)
	if c := take(one("a"), now.Add(keepKeys)); c.Reply == nil { // used, and so behind b
		t.Error("forgotten before its day was over")
	}
	if c := take(one("a"), now.Add(keepKeys+time.Second)); c.Reply != nil {
		t.Error("remembered for more than a day")
	} else {
		d.Finish(c, answer)
	}
	for i := range MaxPerAccumulator + 10 {
		d.Finish(take(one(fmt.Sprint(i)), now.Add(keepKeys)), answer)
	}
	if n := len(d.entries); n != MaxPerAccumulator {
		t.Errorf("%d keys of one accumulator", n)
	}
	big := &Reply{Status: 200, ContentType: "application/json", Body: make([]byte, 1<<20)}
	for i := range 100 {
		d.Finish(take(ID{"default", "g", fmt.Sprint(i), "k"}, now.Add(keepKeys)), big)
	}
	if n := d.Used(); n > MaxBytes || n < MaxBytes/2 {
		t.Errorf("%d bytes are kept", n)
	}
	if n := d.all.Len(); n != len(d.entries) || n > 40 {
		t.Errorf("%d entries, %d in order", len(d.entries), n)
	}
}
