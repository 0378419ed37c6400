package job_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/testbed/leaks"
	"go.uber.org/goleak"
)

const dealt = `graph: dealt
accumulators:
  a: { source: { file: { path: a.ndjson } } }
reactor: { key: k, strategy: sequential, shards: 5 }
outputs:
  all: { from: a, sink: { drop: {} } }
`

// counted gives so many events, and then an error.
type counted struct {
	n, most int
	err     error
	at      func(n int)
}

func (c *counted) Next(ev *boundary.Event) error {
	if c.n == c.most {
		return c.err
	}
	c.n++
	if c.at != nil {
		c.at(c.n)
	}
	*ev = boundary.Event{Raw: fmt.Appendf(nil, `{"k":%d}`, c.n%97)}
	return nil
}

// failing takes so many values.
type failing struct {
	left, taken int
	err         error
}

func (f *failing) Deliver(_ context.Context, batch []sink.Message) error {
	if f.left -= len(batch); f.left < 0 {
		return f.err
	}
	f.taken += len(batch)
	return nil
}

func (f *failing) Close(context.Context) error {
	f.left = -1 // nothing may come any more
	return nil
}

// M51: whatever ends a run ends all its shards, at once and with the reason.
func TestM51WhatEndsARunEndsItsShards(t *testing.T) {
	defer leaks.None(t, goleak.IgnoreCurrent())
	u, ds := (&builtin.Kinds{}).Parse([]byte(dealt), "dealt.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	broken, full := errors.New("broken"), errors.New("full")
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		in   counted
		out  failing
		want error
	}{
		"the end":     {counted{most: 10_000, err: io.EOF}, failing{left: 10_000}, nil},
		"nothing":     {counted{err: io.EOF}, failing{}, nil},
		"a reader":    {counted{most: 7_000, err: broken}, failing{left: 10_000}, broken},
		"a sink":      {counted{most: 10_000, err: io.EOF}, failing{left: 4_000, err: full}, full},
		"a last sink": {counted{most: 10_000, err: io.EOF}, failing{left: 9_999, err: full}, full},
		"a signal": {counted{most: 1 << 30, at: func(n int) {
			if n == 9_000 {
				cancel()
			}
		}}, failing{left: 1 << 30}, context.Canceled},
	} {
		under := t.Context()
		if errors.Is(c.want, context.Canceled) {
			under = ctx
		}
		stats, err := job.Run(under, job.Config{Unit: u, Inputs: []job.Reader{&c.in}, Sinks: []sink.Sink{&c.out}})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got := stats.Inputs[0]; c.want == nil && (got.Consumed != int64(c.in.most) || stats.Epochs != got.Consumed) {
			t.Errorf("%s: %+v", name, stats)
		}
	}
	cancel()
}

// M51: what was read before an input broke is taken, all of it and each time the same, by one shard and by five.
func TestM51WhatWasReadBeforeAnErrorIsTaken(t *testing.T) {
	u, ds := (&builtin.Kinds{}).Parse([]byte(dealt), "dealt.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, shards := range []int{1, 5} {
		for _, most := range []int{0, 1, 700, 7_013} {
			for range 3 {
				out := &failing{left: most}
				stats, err := job.Run(t.Context(), job.Config{
					Unit: u, Sinks: []sink.Sink{out}, Shards: shards, Batch: 64,
					Inputs: []job.Reader{&counted{most: most, err: broken}},
				})
				if got := stats.Inputs[0]; !errors.Is(err, broken) || got.Consumed != int64(most) ||
					stats.Outputs != int64(most) || stats.Epochs != int64(most) || out.taken != most {
					t.Fatalf("%d shards, %d events: %v, %+v, and %d delivered", shards, most, err, stats, out.taken)
				}
			}
		}
	}
}

const dealtAndShared = `graph: dealt
accumulators:
  a: { source: { file: { path: a.ndjson } } }
  rate: { global: true, time: event.at, source: { file: { path: rate.ndjson } } }
reactor: { key: k, shards: 5 }
outputs:
  all: { from: a, sink: { drop: {} } }
`

// M51: what is last may be a dead letter of what all keys share.
func TestM51TheLastOfWhatIsSharedMayBeADeadLetter(t *testing.T) {
	u, ds := (&builtin.Kinds{}).Parse([]byte(dealtAndShared), "dealt.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	stats, err := job.Run(t.Context(), job.Config{
		Unit: u, Sinks: []sink.Sink{nil},
		Inputs: []job.Reader{&lines{all: []string{`{"k":1}`}}, &lines{all: []string{`{"at":7,"v":1}`, `{"at":`}}},
	})
	if err != nil || stats.DeadLetters != 1 || stats.Inputs[1].DeadLettered != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// lines gives events that are these lines.
type lines struct{ all []string }

func (l *lines) Next(ev *boundary.Event) error {
	if len(l.all) == 0 {
		return io.EOF
	}
	*ev = boundary.Event{Raw: []byte(l.all[0])}
	l.all = l.all[1:]
	return nil
}
