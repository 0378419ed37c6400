package job_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/source/file"
)

// What no epoch took is told with the input, how many and what to do, as one graph and in shards; what is left open or
// unread on purpose is not.
func TestWhatIsLeftIsTold(t *testing.T) {
	t.Parallel()
	const keyed = "accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }\n"
	for name, c := range map[string]struct {
		doc, want string
		noFlush   bool
	}{
		"more than its partner has": {
			doc: `accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
reactor: { when: all }`,
			want: "2 events are left of a that no epoch took: nothing more has come of b, and an epoch takes one " +
				"of each; give it as many events, or the reactor a max_wait\n",
		},
		"of keys": {
			doc: keyed + `reactor: { when: all, key: k }`,
			want: "2 events are left of a that no epoch took: an epoch takes one of each input, and not all have " +
				"come; give the reactor a max_wait to go on without\n",
		},
		"of keys in shards": {
			doc: keyed + `reactor: { when: all, key: k, shards: 2 }`,
			want: "2 events are left of a that no epoch took: an epoch takes one of each input, and not all have " +
				"come; give the reactor a max_wait to go on without\n",
		},
		"behind a guard": {
			doc: `accumulators: { a: { strategy: sequential }, b: {}, c: {} }
reactor: { guard: c.v > 0 }
nodes: { n: { expr: c.v } }`,
			want: "3 events are left of a that no epoch took: the guard waits for c; give it events, or let the " +
				"guard do without (?? and == nil)\n",
		},
		"as it was told": {
			doc: `accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
reactor: { when: all }`,
			noFlush: true,
		},
		"a window that is not full": {
			doc: `accumulators: { a: { window: { count: { size: 2 }, aggregate: { n: count() } } }, b: {} }`,
		},
		"the newest that nobody asks for": {
			doc: `accumulators: { a: { passive: true }, b: {} }`,
		},
		"what ticks feed": {
			doc: `accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
  s: { from: beat, time: event.t, window: { tumbling: 10s, aggregate: { n: count() } } }
lanes: { l: { fixed_rate: { period: 5s } } }
nodes: { beat: { expr: '{ "t": now(), "n": a.v ?? 0 }', lane: l } }`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, diags := (&builtin.Kinds{}).Parse([]byte("graph: left\n"+c.doc+
				"\noutputs: { a: { from: a, sink: { drop: {} } }, b: { from: b, sink: { drop: {} } } }\n"), "left.yaml")
			if err := diags.Err(); err != nil {
				t.Fatal(err)
			}
			inputs := make([]job.Reader, len(u.Spec.Accumulators))
			for i, text := range []string{
				`{"k":1,"v":1,"at":1}` + "\n" + `{"k":2,"v":2,"at":2}` + "\n" + `{"k":3,"v":3,"at":3}`,
				`{"k":1,"v":1,"at":1}`,
			} {
				r, err := file.NewReader(strings.NewReader(text), file.ReaderConfig{Format: "ndjson"})
				if err != nil {
					t.Fatal(err)
				}
				inputs[i] = r
			}
			s, err := job.Run(t.Context(), job.Config{
				Unit: u, Inputs: inputs, Sinks: make([]sink.Sink, 2), NoFlush: c.noFlush,
			})
			if err != nil || s.Left != c.want || s.Overdue != 0 {
				t.Errorf("told %q, want %q; overdue %d, %v", s.Left, c.want, s.Overdue, err)
			}
			queued := int64(0)
			for _, in := range s.Inputs {
				queued += in.Queued
			}
			if queued == 0 {
				t.Error("nothing is queued")
			}
		})
	}
}
