package graph

import (
	"slices"

	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
)

// freshOf says that the term asks whether a name is fresh.
func (t *term) freshOf(name string) bool {
	return t != nil && (t.op == "fresh" && t.name == name ||
		slices.ContainsFunc(t.args, func(a *term) bool { return a.freshOf(name) }))
}

// mentions says that the term has a part of one of these kinds.
func (t *term) mentions(ops ...string) bool {
	return t != nil && (slices.Contains(ops, t.op) ||
		slices.ContainsFunc(t.args, func(a *term) bool { return a.mentions(ops...) }))
}

type oracleLoop struct {
	names []string // in the order in which they run
	nodes []*oracleNode
	most  int
	until *term // nil: until nothing changes
	onNot string
}

// restsOn lists the names that a loop rests on, beside its own nodes.
func (l *oracleLoop) restsOn() []string {
	names := l.until.names(nil)
	for _, n := range l.nodes {
		names = append(names, n.restsOn()...)
	}
	return slices.DeleteFunc(names, l.has)
}

func (l *oracleLoop) has(name string) bool { return l != nil && slices.Contains(l.names, name) }

func (l *oracleLoop) last() string { return l.names[len(l.names)-1] }

// resolve finds the nodes, once they are there.
func (l *oracleLoop) resolve(g *oracleGraph) []*oracleNode {
	for _, name := range l.names {
		l.nodes = append(l.nodes, g.nodes[name])
	}
	return l.nodes
}

// makeLoop lets a few nodes in a row be a loop; nil in most graphs.
func (w *world) makeLoop(count int) *oracleLoop {
	size := 1 + w.IntN(3)
	if w.IntN(3) > 0 || count <= size {
		return nil
	}
	l := &oracleLoop{most: 1 + w.IntN(6), onNot: []string{"discard", "commit", "fail"}[min(2, w.IntN(5)/2)]}
	for i := w.IntN(count - size + 1); len(l.names) < size; i++ {
		l.names = append(l.names, nodeName(i))
	}
	return l
}

// loopTerm lets a node of a loop read the one before it; the first reads the last, of the iteration before.
func (w *world) loopTerm(n *oracleNode, source *termSource) {
	at := slices.Index(n.loop.names, n.name)
	before := n.loop.names[(at+len(n.loop.names)-1)%len(n.loop.names)]
	read := &term{op: "read", name: before}
	if at == 0 {
		read = &term{op: "??", args: []*term{read, source.constant()}}
	}
	switch w.IntN(6) {
	case 0:
		n.term = &term{op: "+", args: []*term{read, n.term}}
	case 1:
		n.term = &term{op: "+", args: []*term{read, {op: "iteration"}}}
	case 2:
		n.term = &term{op: "/", args: []*term{n.term, read}}
	case 3:
		n.term = &term{op: "?", args: []*term{{op: "<", args: []*term{read, n.term}}, n.term, read}}
	default: // it grows up to a bound
		more := &term{op: "+", args: []*term{read, {op: "num", n: 1}}}
		n.term = &term{op: "?", args: []*term{{op: "<", args: []*term{read, source.constant()}}, more, read}}
	}
}

// declareLoop draws what ends the loop, once its nodes are there.
func (w *world) declareLoop(l *oracleLoop, source *termSource) {
	d := spec.Loop{Name: "l", MaxIterations: l.most, OnNoConvergence: l.onNot}
	for _, name := range l.names {
		d.Nodes = append(d.Nodes, cycles.Name{Name: name})
	}
	of, read := &term{op: "read", name: l.last()}, source.read()
	count := &term{op: "iteration"}
	switch w.IntN(8) {
	case 0, 1:
		l.until = &term{op: "<", args: []*term{source.constant(), of}}
	case 2:
		l.until = &term{op: "<", args: []*term{read, count}}
	case 3: // what it reads may be absent, and it end all the same
		l.until = &term{op: "||", args: []*term{{op: "<", args: []*term{source.constant(), count}},
			{op: "<", args: []*term{read, of}}}}
	case 4:
		l.until = &term{op: "?", args: []*term{{op: "<", args: []*term{of, source.constant()}},
			{op: "<", args: []*term{read, of}}, {op: "<", args: []*term{source.constant(), count}}}}
	}
	if l.until != nil {
		d.Until = spec.Expr{Text: l.until.String()}
	}
	w.decl.Loops = append(w.decl.Loops, d)
}

// loopDue: something that any of the nodes rests on has changed since the loop last ran, or it never ran.
func (o *oracle) loopDue(l *oracleLoop, k int) bool {
	for _, n := range l.nodes {
		if n.term.asks() || len(n.delay) > 0 && len(n.restsOn()) == 0 {
			return true
		}
	}
	for j := k; j >= 0; j-- {
		if j < k && o.run(l.nodes[0], j).status != Idle {
			return false
		}
		for _, name := range l.restsOn() {
			if o.changed(name, j) {
				return true
			}
		}
	}
	return true
}

// runLoop is what the nodes of a loop come to in epoch k (M18): they begin without a value, run one after the other,
// again and again, and are done when an iteration has changed nothing, or the condition holds.
func (o *oracle) runLoop(l *oracleLoop, k int) {
	last := map[string]val{}
	for _, n := range l.nodes {
		last[n.name] = o.run(n, k-1).value
		o.note(n, k, outcome{value: last[n.name]})
	}
	if !o.loopDue(l, k) {
		return
	}
	now, failed := map[string]val{}, map[string]bool{}
	converged, lacks := false, false
	for i := 1; i <= l.most && !converged; i++ {
		before := map[string]val{}
		for _, n := range l.nodes {
			before[n.name] = now[n.name]
			m := o.momentOf(n, k)
			m.iteration = i
			lately := m.look
			m.look = func(name string) val {
				if l.has(name) && !slices.Contains(n.delay, name) {
					return now[name]
				}
				return lately(name)
			}
			v, fail := n.computeIn(m)
			if fail == errNode && n.onError == "fail_epoch" {
				o.note(n, k, outcome{status: Failed, value: last[n.name], fatal: true})
				return
			}
			if failed[n.name] = fail == errNode; fail != "" {
				v = val{}
			}
			now[n.name] = v
		}
		if l.until == nil {
			converged = true
			for name, v := range before {
				converged = converged && v == now[name]
			}
			continue
		}
		m := o.moment(k)
		m.iteration = i
		elsewhere := m.look
		m.look = func(name string) val {
			if l.has(name) {
				return now[name]
			}
			return elsewhere(name)
		}
		v, fail := l.until.eval(m)
		if lacks = fail == errAbsent; lacks && l.staysAbsent(before, now, elsewhere) {
			break
		}
		if fail == errNode {
			at := l.nodes[len(l.nodes)-1]
			o.note(at, k, outcome{status: Failed, value: last[at.name], fatal: true})
			return
		}
		converged = fail == "" && v == num(1)
	}
	if lacks {
		o.skipLoop(l, k, last, failed)
		return
	}
	o.endLoop(l, k, converged, last, now, failed)
}

// staysAbsent says that what until finds absent is so in all iterations to come: they are like this one, or until is
// one piece, and what it lacks comes from elsewhere. It counts for what is not computed any more, and may fail.
func (l *oracleLoop) staysAbsent(before, now map[string]val, elsewhere func(string) val) bool {
	same := !l.until.mentions("iteration")
	for _, n := range l.nodes {
		same = same && before[n.name] == now[n.name] && !n.term.mentions("iteration") &&
			!slices.ContainsFunc(n.routes, func(t *term) bool { return t.mentions("iteration") })
	}
	whole := !l.until.mentions("||", "&&", "?", "??", "optional")
	return same || whole && slices.ContainsFunc(l.until.plain(nil), func(name string) bool {
		return !l.has(name) && elsewhere(name).kind == 0
	})
}

// skipLoop is what a loop leaves behind that has nothing to agree on.
func (o *oracle) skipLoop(l *oracleLoop, k int, last map[string]val, failed map[string]bool) {
	for _, n := range l.nodes {
		out := outcome{status: Skipped, ticked: last[n.name].kind != 0}
		if failed[n.name] {
			out.status = Failed
		}
		o.note(n, k, out)
	}
}

// endLoop is what a loop leaves behind.
func (o *oracle) endLoop(l *oracleLoop, k int, converged bool, last, now map[string]val, failed map[string]bool) {
	for i, n := range l.nodes {
		was, v := last[n.name], now[n.name]
		out := outcome{status: Ran, value: v, ticked: true}
		switch {
		case !converged && l.onNot == "fail":
			if i == 0 {
				o.note(n, k, outcome{status: Failed, value: was, fatal: true})
			}
			continue
		case !converged && l.onNot == "discard":
			out = outcome{status: Failed, value: was}
		case failed[n.name]:
			out = outcome{status: Failed, ticked: was.kind != 0}
		case v.kind == 0:
			out = outcome{status: Skipped, ticked: was.kind != 0}
		case v == was && !o.isEvent(n):
			out = outcome{status: CutOff, value: was}
		}
		o.note(n, k, out)
	}
}
