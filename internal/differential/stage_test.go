package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newStagePlan is a random graph of two or three stages.
func newStagePlan(seed uint64, sorted bool) *clockPlan {
	p := &clockPlan{r: rand.New(rand.NewPCG(seed, 96)), sorted: sorted, outputs: []string{"all", "last"}}
	p.fill(1 + p.r.IntN(2))
	p.keyed = p.r.IntN(3) == 0
	p.doc = p.declareStages()
	return p
}

func (p *clockPlan) declareStages() string {
	r := p.r
	var b, nodes strings.Builder
	b.WriteString("graph: random\naccumulators:\n")
	names := []string{"a", "b"}[:len(p.kinds)]
	node := func(of, kind string) {
		value := fmt.Sprintf(`{ "k": %[1]s.k, "x": %[1]s.x, "t": %[1]s.t }`, of)
		if kind == "window" {
			edge := []string{"start", "end"}[r.IntN(2)]
			value = fmt.Sprintf(`{ "k": %[1]s.key, "x": %[1]s.n + %[1]s.s, "t": %[1]s.%[2]s }`, of, edge)
		}
		if kind == "batch" {
			value = fmt.Sprintf(`{ "k": %[1]s[0].k, "x": len(%[1]s), "t": %[1]s[0].t }`, of)
		} else if r.IntN(4) == 0 {
			field := map[bool]string{true: "n", false: "x"}[kind == "window"]
			value = fmt.Sprintf(`%s.%s %% 3 == 0 ? nil : %s`, of, field, value)
		}
		fmt.Fprintf(&nodes, "  of_%s: { expr: '%s' }\n", of, value)
	}
	fold := func(kind, at string) {
		lateness := ""
		if r.IntN(2) == 0 {
			lateness = fmt.Sprintf(", lateness: %dms", r.IntN(3000))
		}
		switch {
		case kind == "window" && p.keyed:
			fmt.Fprintf(&b, "    window: { tumbling: %dms%s, key: event.k, aggregate: %s }\n",
				500+r.IntN(5000), lateness, "{ n: count(), s: 'sum(event.x)' }")
		case kind == "window":
			hop := 300 + r.IntN(3000)
			fmt.Fprintf(&b, "    window: { hopping: { size: %dms, every: %dms }%s, key: event.k, aggregate: %s }\n",
				hop*(1+r.IntN(3)), hop, lateness, "{ n: count(), s: sum(event.x) }")
		case kind == "batch":
			fmt.Fprintf(&b, "    batch: { size: %d, interval: %dms }\n", 2+r.IntN(8), 200+r.IntN(3000))
		case p.keyed:
			key := []string{"event.k", "event.x % 2 == 0 ? \"even\" : \"odd\""}[r.IntN(2)]
			fmt.Fprintf(&b, "    key: '%s'\n    emit: { k: event.k, x: event.x, t: event.%s }\n", key, at)
		default:
			fmt.Fprintf(&b, "    emit: { k: event.k, x: event.x, t: event.%s }\n", at)
		}
	}
	kind := func() string { return []string{"passthrough", "window", "window"}[r.IntN(3)] }
	from := []string(nil)
	for i, n := range names {
		p.kinds[i] = kind()
		fmt.Fprintf(&b, "  %s:\n    source: { file: { path: FILE%d, follow: FOLLOW } }\n    time: event.at\n"+
			"    strategy: sequential\n", n, i)
		fold(p.kinds[i], "at")
		node(n, p.kinds[i])
		from = append(from, n)
	}
	for i := range 1 + r.IntN(2) {
		n, k := fmt.Sprintf("s%d", i+1), kind()
		if !p.keyed && r.IntN(4) == 0 {
			k = "batch"
		}
		fmt.Fprintf(&b, "  %s:\n    from: of_%s\n", n, from[r.IntN(len(from))])
		if k == "window" && r.IntN(5) > 0 {
			b.WriteString("    time: event.t\n")
		}
		fold(k, "t")
		node(n, k)
		from = append(from, n)
	}
	fmt.Fprintf(&b, "reactor: { %s }\n", p.criteria(strings.Contains(b.String(), "    key:")))
	var all []string
	for _, n := range from {
		all = append(all, n+" ?? nil")
	}
	fmt.Fprintf(&nodes, "  all: { event: true, expr: '[now(), key, %s, cause()]' }\n", strings.Join(all, ", "))
	fmt.Fprintf(&nodes, "  last: { event: true, expr: '[now(), key, rolling_count(of_%s, duration(\"9s\"))]' }\n",
		from[len(from)-1])
	fmt.Fprintf(&b, "nodes:\n%soutputs:\n  all: { from: all, sink: { stdout: {} } }\n"+
		"  last: { from: last, sink: { stdout: {} } }\n", nodes.String())
	mode := []string{"checkpoint", "journal"}[r.IntN(2)]
	fmt.Fprintf(&b, "durability: { mode: %s, every_epochs: %d }\nhistory: { keep: 10 }\n", mode, 1+r.IntN(20))
	return b.String()
}

// criteria are random ones, and how they are waited for.
func (p *clockPlan) criteria(keyed bool) string {
	r := p.r
	when := []string{"any", "any", "all"}[r.IntN(3)]
	list := []string{"when: " + when}
	if r.IntN(4) == 0 {
		list = append(list, fmt.Sprintf("debounce: %dms", 50+r.IntN(600)))
	}
	if r.IntN(4) == 0 {
		list = append(list, fmt.Sprintf("rate_limit: %dms", 50+r.IntN(300)))
	}
	if r.IntN(3) == 0 && (when == "all" || len(list) > 1 && strings.Contains(list[1], "debounce")) {
		list = append(list, fmt.Sprintf("max_wait: %dms", 300+r.IntN(3000)))
	}
	if keyed && r.IntN(2) == 0 {
		list = append(list, fmt.Sprintf("ttl: %dms", 3000+r.IntN(4000)))
	}
	return strings.Join(list, ", ")
}

// M22, M26, M42: what a bounded run of a graph with stages answers, a live graph answers that has all
// of it to catch up with, and across crashes at random points.
func TestM26StagesEqualRun(t *testing.T) {
	t.Parallel()
	crashes, values := 0, 0
	seeds(t, 150, func(t *testing.T, seed uint64) {
		p, dir := newStagePlan(seed, false), t.TempDir()
		for i := range p.lines {
			p.append(t, dir, i, p.lines[i]...)
		}
		want := p.run(t, dir)
		values += len(want)
		crashes += p.catchesUp(t, dir, seed, want)
	})
	t.Logf("%d values, %d crashes", values, crashes)
}

// M26: the same of events that come one by one as they happen.
func TestM26StagesEqualRunAtEveryPace(t *testing.T) {
	t.Parallel()
	seeds(t, 40, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now())) // the events are of the past
			p := newStagePlan(seed, true)
			p.paced(t, seed)
		})
	})
}
