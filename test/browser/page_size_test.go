package browser

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// busy is a graph of three hundred nodes that fires two hundred times a second.
func busy() []byte {
	var b strings.Builder
	b.WriteString("graph: busy\naccumulators:\n  a: { source: { generator: { every: 5ms, expr: i } } }\n" +
		"  b: { source: { generator: { every: 50ms, expr: i * 2 } } }\nnodes:\n  n0: { expr: a + b }\n")
	for i := 1; i < 300; i++ {
		more := strconv.Itoa(i)
		if i%5 == 0 {
			more = "n" + strconv.Itoa(max(0, i-7))
		}
		fmt.Fprintf(&b, "  n%d: { expr: n%d + %s }\n", i, (i-1)/3, more)
	}
	b.WriteString("outputs: { o: { from: n299, sink: { drop: {} } } }\n")
	return []byte(b.String())
}

// costs are what a page has cost so far: seconds of the processor that its thread has had, and bytes of its scripts.
func (p *page) costs() (work, heap, at float64) {
	p.b.t.Helper()
	var out struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	for method, into := range map[string]any{"Performance.enable": &struct{}{}} {
		if why := p.b.call(p.session, method, map[string]any{"timeDomain": "threadTicks"}, into); why != "" {
			p.b.t.Fatal(why)
		}
	}
	if why := p.b.call(p.session, "Performance.getMetrics", map[string]any{}, &out); why != "" {
		p.b.t.Fatal(why)
	}
	for _, m := range out.Metrics {
		switch m.Name {
		case "TaskDuration":
			work = m.Value
		case "JSHeapUsedSize":
			heap = m.Value
		case "Timestamp":
			at = m.Value
		}
	}
	return work, heap, at
}

// TestPageOfManyNodes: the picture of three hundred nodes stays as it is while their values change. What that costs is
// logged, for a machine that does nothing else.
func TestPageOfManyNodes(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"busy": busy()}})
	p := start(t).open("http://localhost:" + port + "/graphs/busy")
	p.view(1440, "light")
	p.until("its nodes", `document.querySelectorAll(".picture .box.node").length === 300`)
	p.until("values", `/\d/.test(document.querySelector('[data-id="n:n299"] .text').textContent)`)
	const places = `[...document.querySelectorAll(".picture .box")].map(b => b.getAttribute("transform")).join() +
		[...document.querySelectorAll(".picture .line")].map(l => l.getAttribute("d")).join()`
	const beside = `performance.getEntriesByType("resource").filter(e => e.name.endsWith("/page/layout.js")).length +
		" " + document.querySelector(".picture").dataset.arranged`
	if n := p.now(beside); n != "1 worker" {
		t.Errorf("how often it was arranged beside the page, and by whom: %s", n)
	}
	before, value := p.now(places), p.now(`document.querySelector('[data-id="n:n299"] .text').textContent`)
	work, _, from := p.costs()
	for range 5 {
		p.until("another value", fmt.Sprintf(`document.querySelector('[data-id="n:n299"] .text').textContent !== %q`,
			value))
		value = p.now(`document.querySelector('[data-id="n:n299"] .text').textContent`)
	}
	after := p.now(places)
	if before != after || len(before) < 10_000 {
		t.Error("the picture moves while values change")
	}
	p.try(`new Promise(done => setTimeout(() => done(""), 3000))`)
	if did, heap, to := p.costs(); to > from {
		t.Logf("%.1f %% of a core, %.1f MiB", 100*(did-work)/(to-from), heap/(1<<20))
	}
	p.keep("nodes", false)
}
