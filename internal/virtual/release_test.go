package virtual_test

import (
	"errors"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/virtual"
)

// What has ended a graph is what every later call answers, and nothing more is released: also when
// a command has made an epoch.
func TestAnEndedGraphStaysEnded(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\n"+
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	g := virtual.New(u, time.Unix(0, 0).UTC(), nil)
	ended, released := errors.New("the sink is full"), 0
	g.Release = func([]sink.Message) error {
		if released++; released == 1 {
			return ended
		}
		return nil
	}
	g.Add(0, &boundary.Event{Raw: []byte("1")}, true)
	if err := g.Quiesce(); !errors.Is(err, ended) {
		t.Fatalf("the first epoch: %v", err)
	}
	fire := func(c *reactor.Core, now time.Time) error {
		_, err := c.FireWith(now, "", []boundary.Value{boundary.Int(2)}, true)
		return err
	}
	if err := g.Command(fire); !errors.Is(err, ended) || released != 1 {
		t.Errorf("a command afterwards: %v, released %d times", err, released)
	}
	if err := g.Close(); !errors.Is(err, ended) || released != 1 {
		t.Errorf("the end of the input: %v, released %d times", err, released)
	}
}
