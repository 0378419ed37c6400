package reactor

import (
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M53: a run knows since which incarnation nothing was undone that watchers were shown: a clean stop keeps that, and
// after a crash, or a release that did not say it, it is its own.
func TestM53SinceWhenNothingWasUndone(t *testing.T) {
	t.Parallel()
	r := newRig(t, graphOf("  a: { strategy: sequential }\n", "{ when: any }",
		"nodes:\n  n: { expr: a }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"))
	meta, cfg := []byte(nil), r.c.cfg
	for _, run := range []struct {
		clean bool
		want  int64
	}{{false, 1}, {true, 1}, {true, 1}, {false, 4}, {true, 4}} {
		cfg.Incarnation++
		if meta == nil {
			cfg.Incarnation = 1
		}
		c := NewCore(cfg)
		if _, err := c.Restore(checkpoint.Head{Meta: meta, Clean: run.clean}, nil); err != nil {
			t.Fatal(err)
		}
		if got := c.Unbroken(); got != run.want {
			t.Errorf("incarnation %d: since %d, want %d", cfg.Incarnation, got, run.want)
		}
		meta = c.meta()
	}
	c := NewCore(cfg)
	if _, err := c.Restore(checkpoint.Head{Meta: []byte(`{"format":2}`), Clean: true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Unbroken(); got != cfg.Incarnation {
		t.Errorf("of a record without it: since %d, want %d", got, cfg.Incarnation)
	}
}
