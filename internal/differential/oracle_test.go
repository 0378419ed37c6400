package differential

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// event is one line of the input: a time in seconds, a key and a number.
type event struct {
	at int
	k  string
	x  int
}

// plan is a random declaration, and what the oracle needs to know of it.
type plan struct {
	size, every, lateness int // seconds
	keyed                 bool
	threshold             int
	span                  int // of ema
	dedupe                bool
	guard                 int // 0: none; else windows of a multiple of so many events make no epoch
	events                []event
}

// passes says whether the guard lets a window make its epoch.
func (p *plan) passes(g *group) bool { return p.guard == 0 || len(g.of)%p.guard != 0 }

// zero is the time of second 0.
var zero = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

func newPlan(seed uint64) *plan {
	r := rand.New(rand.NewPCG(seed, 77))
	p := &plan{every: 1 + r.IntN(12), lateness: r.IntN(15), keyed: r.IntN(2) == 0, threshold: r.IntN(60),
		span: 2 + r.IntN(4), dedupe: r.IntN(2) == 0}
	p.size = p.every * (1 + r.IntN(3))
	keys := []string{"a", "b", "c", "d"}[:1+r.IntN(4)]
	t := 0
	for range 100 + r.IntN(600) {
		t += r.IntN(4)
		at := t - r.IntN(1+r.IntN(2*p.lateness+2)) // now and then later than lateness allows
		p.events = append(p.events, event{max(at, 0), keys[r.IntN(len(keys))], r.IntN(40)})
	}
	p.guard = []int{0, 0, 1, 2, 3}[r.IntN(5)]
	return p
}

// declaration is the plan as a user would write it; source is its file's source.
func (p *plan) declaration(file, durability string) string {
	reactor := "{ when: any, strategy: sequential }"
	if p.keyed {
		reactor = "{ when: any, strategy: sequential, key: k }"
	}
	if p.guard > 0 {
		reactor = strings.Replace(reactor, " }", fmt.Sprintf(", guard: w.n %% %d != 0 }", p.guard), 1)
	}
	window := fmt.Sprintf("tumbling: %ds", p.size)
	if p.size != p.every {
		window = fmt.Sprintf("hopping: { size: %ds, every: %ds }", p.size, p.every)
	}
	seen := "true"
	if p.dedupe {
		seen = `dedupe(w.total, duration("24h"))`
	}
	return fmt.Sprintf(`graph: random
accumulators:
  w:
    source: { file: { path: %q } }
    time: event.at
    time_unit: s
    window:
      %s
      lateness: %ds
      key: event.k
      aggregate:
        { n: count(), total: sum(event.x), least: min(event.x), last: last(event.x), wide: max(event.x) - min(event.x) }
reactor: %s
nodes:
  smooth: { expr: 'ema(w.total, %d)' }
  change: { expr: delta(w.n) }
  judge: { route: { hot: w.total > %d, again: 'not %s', rest: true } }
  row: { expr: '[w.k, w.start, w.n, w.total, w.least, w.last, w.wide, smooth, change, judge]' }
  alert: { after: judge.hot, event: true, expr: '{ "k": w.k, "end": w.end, "over": w.total - %d }' }
outputs:
  rows: { from: row, sink: { stdout: {} } }
  alerts: { from: alert, sink: { stdout: {} } }
durability: %s
history: { keep: 10 }
`, file, window, p.lateness, reactor, p.span, p.threshold, seen, p.threshold, durability)
}

// lines is the input as NDJSON.
func (p *plan) lines() string {
	var b strings.Builder
	for _, e := range p.events {
		fmt.Fprintf(&b, "{\"at\":%d,\"k\":%q,\"x\":%d}\n", zero.Unix()+int64(e.at), e.k, e.x)
	}
	return b.String()
}

// group is one window of one key.
type group struct {
	end  int
	k    string
	of   []event
	owns int // events whose last window this is
}

// folded is what the windows came to, computed from all events.
type folded struct {
	groups       []*group // in the order in which they close
	closedByData int      // of them, how many close before the input ends
	late         int
}

// fold computes the windows anew for every event, from nothing but what came before it.
func (p *plan) fold() folded {
	var f folded
	open := map[string]*group{}
	closeUpTo := func(watermark int) {
		var due []*group
		for name, g := range open {
			if g.end <= watermark {
				due = append(due, g)
				delete(open, name)
			}
		}
		slices.SortFunc(due, func(a, b *group) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.k, b.k)) })
		f.groups = append(f.groups, due...)
	}
	greatest := math.MinInt / 2
	for _, e := range p.events {
		watermark := greatest - p.lateness
		lastStart := e.at - (int(zero.Unix())+e.at)%p.every // windows are counted from 1970
		if lastStart+p.size <= watermark {
			f.late++
			continue
		}
		for start := lastStart; start > e.at-p.size; start -= p.every {
			end := start + p.size
			if end <= watermark {
				continue
			}
			name := fmt.Sprint(end, e.k)
			if open[name] == nil {
				open[name] = &group{end: end, k: e.k}
			}
			open[name].of = append(open[name].of, e)
			if start == lastStart {
				open[name].owns++
			}
		}
		greatest = max(greatest, e.at)
		closeUpTo(greatest - p.lateness)
	}
	f.closedByData = len(f.groups)
	closeUpTo(math.MaxInt)
	return f
}

// memory is what the functions of the nodes remember, of a key or of the whole graph.
type memory struct {
	smooth float64
	n      int
	some   bool
	seen   map[int]bool
}

// outputs are the values that the outputs emit for the groups in their order, by epoch from 1.
func (p *plan) outputs(groups []*group) []string {
	var out []string
	memories := map[string]*memory{}
	epoch := 0
	for _, g := range groups {
		if !p.passes(g) {
			continue
		}
		epoch++
		key := ""
		if p.keyed {
			key = g.k
		}
		m := memories[key]
		if m == nil {
			m = &memory{seen: map[int]bool{}}
			memories[key] = m
		}
		total, least, most, last := 0, math.MaxInt, math.MinInt, g.of[0]
		for _, e := range g.of {
			total += e.x
			least, most = min(least, e.x), max(most, e.x)
			if e.at >= last.at {
				last = e
			}
		}
		change := "null"
		if m.some {
			change = fmt.Sprint(len(g.of) - m.n)
			weight := 2 / (float64(p.span) + 1)
			m.smooth += weight * (float64(total) - m.smooth)
		} else {
			m.smooth = float64(total)
		}
		m.n, m.some = len(g.of), true
		judge := "rest"
		switch {
		case total > p.threshold:
			judge = "hot"
		case p.dedupe && m.seen[total]:
			judge = "again"
		}
		if total <= p.threshold { // the second route is asked only when the first does not hold
			m.seen[total] = true
		}
		start, end := zero.Add(time.Duration(g.end-p.size)*time.Second), zero.Add(time.Duration(g.end)*time.Second)
		const layout = "2006-01-02T15:04:05.000Z"
		out = append(out, fmt.Sprintf(`%d rows [%q,%q,%d,%d,%d,%d,%d,%s,%s,%q]`, epoch, g.k, start.Format(layout),
			len(g.of), total, least, last.x, most-least, number(m.smooth), change, judge))
		if judge == "hot" {
			out = append(out, fmt.Sprintf(`%d alerts {"end":%q,"k":%q,"over":%d}`, epoch, end.Format(layout), g.k,
				total-p.threshold))
		}
	}
	return out
}
