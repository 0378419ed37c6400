package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// M26: the rows about silence of the table in docs/windows.md, live: which windows close, and when.
func TestM26WindowsInASilence(t *testing.T) {
	for name, c := range map[string]struct {
		idle  string // of the window of a
		steps func(t *testing.T, a, b *tape, saw func(want string), bed *bed)
	}{
		"one input is silent": {"", func(_ *testing.T, a, b *tape, saw func(string), _ *bed) {
			a.events("p0", 103, 104)
			b.events("p0", 103, 131)
			saw("[131,0,100]")           // the window of b: that of a waits for its own events
			time.Sleep(30 * time.Second) // all are silent: the last ones close too
			saw("[131,100,100] [140,100,130]")
		}},
		"one input is silent while another goes on": {"", func(_ *testing.T, a, b *tape, saw func(string), _ *bed) {
			a.events("p0", 103)
			for at := 101; at < 161; at += 5 {
				b.events("p0", at)
				time.Sleep(5 * time.Second)
			}
			saw("[111,0,100] [121,0,110] [131,0,120] [141,0,130] [151,0,140]")
			a.events("p0", 158)
			saw("[158,100,140]")
		}},
		"all are silent": {"", func(_ *testing.T, a, b *tape, saw func(string), _ *bed) {
			a.events("p0", 103)
			b.events("p0", 104)
			time.Sleep(9 * time.Second)
			saw("")
			time.Sleep(time.Second + time.Millisecond)
			saw("[110,100,0] [110,100,100]")
		}},
		"one partition is silent": {"", func(_ *testing.T, a, b *tape, saw func(string), _ *bed) {
			a.events("p0", 103)
			a.events("p1", 104, 115)
			b.events("p0", 119)
			saw("")
			a.events("p0", 116)
			saw("[119,100,0]")
		}},
		"one partition is silent for longer than idle": {", idle: 6s", func(_ *testing.T, a, b *tape,
			saw func(string), _ *bed) {
			a.events("p0", 103)
			a.events("p1", 104, 108)
			saw("")
			a.events("p1", 110) // p0 is seven seconds of engine time behind
			saw("[110,100,0]")
		}},
		"a source comes back late": {"", func(t *testing.T, a, b *tape, saw func(string), bed *bed) {
			a.events("p0", 103)
			a.health(accumulator.Disconnected)
			time.Sleep(20 * time.Second)
			saw("[110,100,0]")
			a.health(accumulator.Live)
			a.events("p0", 105, 112, 121) // one is late
			saw("[121,110,0]")
			if c := bed.summary("g").Counters; c.Received != 4 || c.Filtered != 1 {
				t.Errorf("books %+v", c)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, out := newTape(false), newTape(false), &heard{}
				a.load()
				b.load()
				bed := newBed(t, memstore.New(), &scripted{
					source: func(name string) accumulator.Source {
						return map[string]accumulator.Source{"a": a, "b": b}[name]
					},
					sink: func(string) sink.Sink { return out },
				})
				defer bed.close()
				bed.apply(strings.ReplaceAll(`graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 10s, aggregate: { n: count() }IDLE } }
  b: { time: event.at, time_unit: s, window: { tumbling: 10s, aggregate: { n: count() } } }
nodes:
  n: { event: true, expr: '[now(), a?.start ?? 0, b?.start ?? 0]' }
outputs: { o: { from: n, sink: { drop: {} } } }
`, "IDLE", c.idle), "g")
				a.health(accumulator.Live)
				b.health(accumulator.Live)
				c.steps(t, a, b, func(want string) {
					t.Helper()
					if got := out.since(); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				}, bed)
			})
		})
	}
}
