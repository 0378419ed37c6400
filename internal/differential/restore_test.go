package differential

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/virtual"
)

// M26, M28: a bounded run that is sealed and restored at random points, with panes open and
// events late, gives what the oracle gives.
func TestRestoredRunEqualsOracle(t *testing.T) {
	t.Parallel()
	seeds(t, 200, func(t *testing.T, seed uint64) {
		p := newPlan(seed)
		u, diags := (&builtin.Kinds{}).Parse([]byte(p.declaration("in.ndjson", "{ mode: none }")), "random.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := rand.New(rand.NewPCG(seed, 4))
		if err := runRestored(t, u, p.lines(), &out, func() bool { return r.IntN(40) == 0 }); err != nil {
			t.Fatal(err)
		}
		compare(t, "restored", emitted(t, out.Bytes()), p.outputs(p.fold().groups))
	})
}

// runRestored runs the lines through one input, as a job does, and goes on from a checkpoint
// wherever cut says so.
func runRestored(t *testing.T, u *compile.Unit, lines string, out io.Writer, cut func() bool) error {
	in, err := file.NewReader(strings.NewReader(lines), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		return err
	}
	to := stdout.NewOutput(out)
	sinks := []sink.Sink{to.Sink(), to.Sink()}
	release := func(batch []sink.Message) error {
		for i := range batch {
			if err := sinks[batch[i].To].Deliver(t.Context(), batch[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	g := virtual.New(u, time.Time{}, nil)
	g.Release = release
	for {
		var ev boundary.Event
		if err := in.Next(&ev); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if cut() {
			cp, err := g.Seal()
			if err != nil {
				return err
			}
			if g, _, err = virtual.Restore(u, cp, nil); err != nil {
				return err
			}
			g.Release = release
		}
		at, _, err := g.EventTime(0, &ev)
		if err != nil {
			return err
		}
		if err := g.AdvanceTo(at); err != nil {
			return err
		}
		g.Add(0, &ev, true)
		if err := g.Step(); err != nil {
			return err
		}
	}
	if err := g.Close(); err != nil {
		return err
	}
	for _, s := range sinks {
		if err := s.Close(t.Context()); err != nil {
			return err
		}
	}
	return nil
}
