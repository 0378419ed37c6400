package job_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/drop"
)

const dealtAndForgotten = `graph: dealt
accumulators:
  a: { time: event.at, time_unit: s }
  b: { time: event.at, time_unit: s }
reactor: { key: k, shards: 5, ttl: 10s, when: { any: [a] } }
outputs:
  all: { from: a, sink: { drop: {} } }
`

// dated gives an event for each second from the first to the last, and three for every seventh, of many keys.
type dated struct{ at, last, more int }

func (d *dated) Next(ev *boundary.Event) error {
	if d.at > d.last {
		return io.EOF
	}
	*ev = boundary.Event{Raw: fmt.Appendf(nil, `{"k":"k%d","at":%d}`, (d.at*31+d.more*7)%23, d.at)}
	if d.more++; d.at%7 != 0 || d.more == 3 {
		d.at, d.more = d.at+1, 0
	}
	return nil
}

// M13, M51: what keys leave at their ttl that no epoch has taken becomes dead letters in the order of one graph,
// whatever the number of shards: by the time at which it runs out, and at one time by the last arrival.
func TestM51WhatKeysLeaveAtTheirTTLComesInOrder(t *testing.T) {
	u, ds := (&builtin.Kinds{}).Parse([]byte(dealtAndForgotten), "dealt.yaml")
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	if why := u.OneCore(); why != "" {
		t.Fatalf("the test is void: %s", why)
	}
	want := ""
	for _, shards := range []int{1, 2, 5, 23} {
		var letters strings.Builder
		_, err := job.Run(t.Context(), job.Config{
			Unit: u, Shards: shards, Batch: 4, Sinks: []sink.Sink{drop.Sink{}},
			// With nothing for a second the clock goes past several keys at once.
			Inputs: []job.Reader{&dated{at: 20_100, last: 20_101}, &dated{at: 0, last: 20_000}},
			DeadLetter: func(l job.Letter) error {
				_, err := fmt.Fprintln(&letters, l.ID, l.At.Unix(), l.Accumulator, l.Code, l.Key, l.Position)
				return err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = letters.String()
		}
		if n := strings.Count(want, "key_evicted"); n < 100 {
			t.Fatalf("the test is void: %d dead letters of keys", n)
		}
		if got := letters.String(); got != want {
			g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
			for i := range w {
				if i >= len(g) || g[i] != w[i] {
					t.Fatalf("%d shards, letter %d:\n got %s\nwant %s", shards, i+1, g[min(i, len(g)-1)], w[i])
				}
			}
		}
	}
}
