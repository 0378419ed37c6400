package browser

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// quietly skips what is measured where it was not asked for: on a machine that does anything else it says nothing.
func quietly(t *testing.T) {
	t.Helper()
	if os.Getenv("GRAPHD_MEASURE") == "" {
		t.Skip("it is measured where GRAPHD_MEASURE is set, on a machine that does nothing else")
	}
}

// number is what an expression of the page comes to.
func (p *page) number(expression string) float64 {
	p.b.t.Helper()
	n, err := strconv.ParseFloat(p.try(expression), 64)
	if err != nil {
		p.b.t.Fatal(err)
	}
	return n
}

// longest scrolls a page from its top to its end within four seconds, and is the longest frame in milliseconds.
const longest = `new Promise(done => {
	const began = performance.now(), end = document.documentElement.scrollHeight - innerHeight
	let last = began, most = 0
	const frame = now => {
		if (last !== began) most = Math.max(most, now - last)
		last = now
		const share = (now - began) / 4000
		scrollTo(0, end * Math.abs(Math.sin(share * Math.PI * 2)))
		share < 1 ? requestAnimationFrame(frame) : done(String(most))
	}
	requestAnimationFrame(frame)
})`

// TestMeasurePageScrolls: a thousand graphs, and one of three hundred nodes, scroll without a frame over 100 ms.
func TestMeasurePageScrolls(t *testing.T) {
	quietly(t)
	all := map[string][]byte{"busy": busy()}
	for i := range 999 {
		name := fmt.Sprintf("g%03d", i)
		all[name] = []byte(strings.Replace(quotes, "graph: quotes", "graph: "+name, 1))
	}
	port, _ := run(t, graphd.Config{Declarations: all})
	p := start(t).open("http://localhost:" + port + "/")
	p.view(1440, "light")
	p.until("a thousand graphs", `document.querySelector(".graphs").getAttribute("aria-rowcount") === "1001"`)
	overview := p.number(longest)
	p = p.b.open("http://localhost:" + port + "/graphs/busy")
	p.view(1440, "light")
	p.until("its nodes", `document.querySelectorAll(".picture .box.node").length === 300`)
	graph := p.number(longest)
	t.Logf("longest frame: %.0f ms of 1,000 graphs, %.0f ms of 300 nodes", overview, graph)
	if max(overview, graph) > 100 {
		t.Error("a frame took more than 100 ms")
	}
}

// TestMeasurePageHolds: an hour's worth of frames, ten firings a second with their states and a summary each second,
// leave 50 MiB at most in the page.
func TestMeasurePageHolds(t *testing.T) {
	quietly(t)
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	p.view(1440, "light")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the graph", `document.querySelector("#ready")`)
	const seconds, each = 3600, 10
	for second := range seconds {
		for epoch := second*each + 1; epoch <= (second+1)*each; epoch++ {
			one.say(fired(epoch), fmt.Sprintf(`{"type":"state","graph":"g","state":{"epoch":%d,"cache":{"a":%d},
				"nodes":{"constructor":%d},"dirty":{"a":false}}}`, epoch, epoch, epoch))
		}
		one.say(stands(t, nil))
	}
	p.until("the last", fmt.Sprintf(`%s.startsWith("%d,")`, epochs, seconds*each))
	if why := p.b.call(p.session, "HeapProfiler.collectGarbage", map[string]any{}, &struct{}{}); why != "" {
		t.Fatal(why)
	}
	_, heap, _ := p.costs()
	t.Logf("%.1f MiB after %d frames", heap/(1<<20), seconds*(2*each+1))
	if heap > 50<<20 {
		t.Error("the page holds more than 50 MiB")
	}
}

const fast = `graph: fast
accumulators: { ticks: { source: { generator: { every: 1ms, expr: i } } } }
nodes: { double: { expr: ticks * 2 } }
outputs: { o: { from: double, sink: { drop: {} } } }
`

// TestMeasurePageAppears: a page that is opened shows its graph, with values that move, within a second. The first time
// nothing of it is in the browser, and the daemon has yet to pack it.
func TestMeasurePageAppears(t *testing.T) {
	quietly(t)
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"fast": []byte(fast)}})
	b := start(t)
	b.open("http://localhost:" + port + "/docs") // the browser runs, and has nothing of the page
	var took []float64
	for range 5 {
		p := b.open("http://localhost:" + port + "/graphs/fast")
		p.until("a value", `/[1-9]/.test(document.querySelector(".picture .box.node .text")?.textContent)`)
		took = append(took, p.number(`"" + performance.now()`))
	}
	t.Logf("a moving graph is there after %.0f ms", took) // of the navigation, with the time until this has looked
	if slices.Sort(took); took[len(took)/2] > 1000 {
		t.Error("a page takes more than a second to appear")
	}
}

// spent is how long this process, which is the daemon, has been at work.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestMeasurePageCosts: at a thousand events a second a page takes 5 % of a core at most, and has the daemon take 3 %
// more of what it takes without. The daemon is this process, whose test does nothing meanwhile.
func TestMeasurePageCosts(t *testing.T) {
	quietly(t)
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"fast": []byte(fast)}})
	b := start(t)
	// In turns, since what else the machine does goes up and down.
	const rounds, span = 4, 15 * time.Second
	during := func() time.Duration {
		before := spent(t)
		<-time.After(span)
		return spent(t) - before
	}
	var without, with time.Duration
	var tab, heap float64
	for range rounds {
		<-time.After(5 * time.Second)
		without += during()
		p := b.open("http://localhost:" + port + "/graphs/fast")
		p.view(1440, "light")
		p.until("its rate", `/[1-9]/.test(document.querySelector(".figure dd").textContent)`)
		<-time.After(5 * time.Second)
		work, _, from := p.costs()
		with += during()
		did, is, to := p.costs()
		tab, heap = tab+(did-work)/(to-from)/rounds, max(heap, is)
		p.leave()
	}
	share := func(of time.Duration) float64 { return 100 * float64(of) / float64(rounds*span) }
	t.Logf("the page takes %.1f %% of a core and %.1f MiB; the daemon %.2f %% without it and %.2f %% with it, %+.1f %%",
		100*tab, heap/(1<<20), share(without), share(with), 100*(float64(with)/float64(without)-1))
	if tab > 0.05 {
		t.Error("the page takes more than 5 % of a core")
	}
	if float64(with) > 1.03*float64(without) {
		t.Error("the daemon takes more than 3 % more for a page that watches")
	}
}
