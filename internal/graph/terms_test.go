package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
)

// The language of the random graphs: terms that can be written as expressions,
// and that evaluate themselves for the oracle.

// val is a value of the oracle: 'n' a number, 's' a string, 'z' null, 0 absent.
type val struct {
	kind byte
	n    float64
	s    string
}

func num(n float64) val { return val{kind: 'n', n: n} }

// term is an expression. Plain reads are "read" (the value) and "field" (its v).
type term struct {
	op   string
	n    float64 // of "num"
	s    string  // of "is": the text compared with
	name string  // of reads
	args []*term
}

var errNode, errAbsent = "error", "absent"

// moment is what a term is evaluated in: an epoch, and what names are in it.
type moment struct {
	epoch int64
	cause string
	look  func(name string) val
	now   func(name string) val // what is delayed, too, as of this epoch
	fresh func(name string) bool
	// iteration is that of a loop.
	iteration int
}

// eval is the term's value in an epoch; the string is errNode or errAbsent when there is none.
func (t *term) eval(m moment) (val, string) {
	switch t.op {
	case "num":
		return num(t.n), ""
	case "epoch":
		return num(float64(m.epoch)), ""
	case "iteration":
		return num(float64(m.iteration)), ""
	case "read", "field", "optional":
		v := m.look(t.name)
		if v.kind == 0 && t.op == "optional" {
			return val{kind: 'z'}, ""
		} else if v.kind == 0 {
			return v, errAbsent
		}
		return v, ""
	case "cause":
		return val{kind: 's', s: m.cause}, ""
	case "fresh":
		return truth(m.fresh(t.name)), ""
	case "== nil", "!= nil":
		v := m.look(t.args[0].name)
		return truth((v.kind == 0 || v.kind == 'z') == (t.op == "== nil")), ""
	case "??":
		if v := m.look(t.args[0].name); v.kind != 0 && v.kind != 'z' {
			return v, ""
		}
		return t.args[1].eval(m)
	}
	a, fail := t.args[0].eval(m)
	if fail != "" {
		return a, fail
	}
	isTrue := a == num(1)
	switch t.op {
	case "?":
		if isTrue {
			return t.args[1].eval(m)
		}
		return t.args[2].eval(m)
	case "&&", "||":
		if isTrue == (t.op == "||") {
			return a, ""
		}
		return t.args[1].eval(m)
	case "not":
		return truth(!isTrue), ""
	case "is":
		return truth(a == val{kind: 's', s: t.s}), ""
	}
	b, fail := t.args[1].eval(m)
	if fail != "" {
		return b, fail
	}
	if t.op == "==" {
		return truth(a == b), ""
	}
	if a.kind != 'n' || b.kind != 'n' {
		return val{}, errNode
	}
	switch t.op {
	case "<":
		return truth(a.n < b.n), ""
	case "+":
		a.n += b.n
	case "-":
		a.n -= b.n
	case "*":
		a.n *= b.n
	case "/":
		a.n /= b.n
	}
	if math.IsInf(a.n, 0) || math.IsNaN(a.n) {
		return val{}, errNode
	}
	return a, ""
}

func truth(b bool) val {
	if b {
		return num(1)
	}
	return num(0)
}

// plain lists the names that are read plainly.
func (t *term) plain(into []string) []string {
	if t.op == "read" || t.op == "field" {
		into = append(into, t.name)
	}
	args := t.args
	if t.lenient() {
		args = args[1:]
	}
	for _, a := range args {
		into = a.plain(into)
	}
	return into
}

// lenient says that the first argument reads as null when it is absent.
func (t *term) lenient() bool { return t.op == "??" || t.op == "== nil" || t.op == "!= nil" }

// asks says that the term asks something of the epoch that no name tells.
func (t *term) asks() bool {
	return t != nil && (t.op == "fresh" || t.op == "cause" || slices.ContainsFunc(t.args, (*term).asks))
}

func (t *term) names(into []string) []string {
	if t == nil {
		return into
	}
	if t.name != "" {
		into = append(into, t.name)
	}
	for _, a := range t.args {
		into = a.names(into)
	}
	return into
}

// same compares a value of the engine with one of the oracle.
func same(v boundary.Value, w val) bool {
	switch w.kind {
	case 0:
		return v.IsAbsent()
	case 'z':
		return v.IsNull()
	case 's':
		s, ok := v.AsString()
		return ok && s == w.s
	}
	f, ok := v.AsFloat()
	return ok && f == w.n
}

// String is the term as an expression.
func (t *term) String() string {
	switch t.op {
	case "num":
		return strconv.FormatFloat(t.n, 'g', -1, 64)
	case "epoch", "iteration":
		return t.op + "()"
	case "cause":
		return "cause()"
	case "fresh":
		return "fresh(" + t.name + ")"
	case "== nil", "!= nil":
		return "(" + t.args[0].String() + " " + t.op + ")"
	case "read":
		return t.name
	case "field":
		return t.name + ".v"
	case "optional":
		return t.name + "?.v"
	case "is":
		return "(" + t.args[0].String() + ` == "` + t.s + `")`
	case "not":
		return "(not " + t.args[0].String() + ")"
	case "?":
		return "(" + t.args[0].String() + " ? " + t.args[1].String() + " : " + t.args[2].String() + ")"
	}
	return "(" + t.args[0].String() + " " + t.op + " " + t.args[1].String() + ")"
}

// What a name in a random graph is.
const (
	scalarInput = iota
	objectInput // {v: number}, the field may be missing
	numberNode
	routeNode
)

// termSource makes random terms over the names there are so far.
type termSource struct {
	*rand.Rand
	names []string
	kinds map[string]int
	// early says that the terms are of the guard: no node has run yet.
	early bool
}

func (s *termSource) pick(kinds ...int) string {
	var fit []string
	for _, n := range s.names {
		if slices.Contains(kinds, s.kinds[n]) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return fit[s.IntN(len(fit))]
}

// read is a reference to a number; it may be absent, and null where a field is missing.
func (s *termSource) read() *term {
	name := s.pick(scalarInput, objectInput, numberNode)
	switch {
	case s.kinds[name] != objectInput:
		return &term{op: "read", name: name}
	case s.IntN(4) == 0:
		return &term{op: "optional", name: name}
	default:
		return &term{op: "field", name: name}
	}
}

func (s *termSource) constant() *term { return &term{op: "num", n: float64(s.IntN(4))} }

func (s *termSource) number(depth int) *term {
	if depth == 0 {
		if s.IntN(4) == 0 {
			return s.constant()
		}
		return s.read()
	}
	switch s.IntN(12) {
	case 0, 1:
		return &term{op: "??", args: []*term{s.read(), s.number(depth - 1)}}
	case 2, 3:
		return &term{op: "+", args: []*term{s.number(depth - 1), s.number(depth - 1)}}
	case 4:
		return &term{op: "-", args: []*term{s.number(depth - 1), s.number(depth - 1)}}
	case 5:
		return &term{op: "*", args: []*term{s.number(depth - 1), s.constant()}}
	case 6: // by a read: what divides by a constant zero does not compile
		return &term{op: "/", args: []*term{s.number(depth - 1), s.read()}}
	case 7, 8:
		return &term{op: "?", args: []*term{s.condition(depth - 1), s.number(depth - 1), s.number(depth - 1)}}
	case 9:
		if s.IntN(3) == 0 {
			return &term{op: "epoch"}
		}
		fallthrough
	default:
		return s.read()
	}
}

// ask is a question about the epoch, or about whether something is there.
func (s *termSource) ask() *term {
	switch s.IntN(4) {
	case 0:
		return &term{op: "is", s: causes[s.IntN(len(causes))], args: []*term{{op: "cause"}}}
	case 1:
		kinds := []int{scalarInput, objectInput}
		if !s.early {
			kinds = append(kinds, numberNode, routeNode)
		}
		return &term{op: "fresh", name: s.pick(kinds...)}
	}
	name := s.pick(scalarInput, objectInput, numberNode, routeNode)
	read := &term{op: "read", name: name}
	if s.kinds[name] == objectInput {
		read.op = "field"
	}
	return &term{op: []string{"== nil", "!= nil"}[s.IntN(2)], args: []*term{read}}
}

// causes are why random epochs run.
var causes = []string{"criteria", "force"}

func (s *termSource) condition(depth int) *term {
	if s.IntN(6) == 0 {
		return s.ask()
	}
	if route := s.pick(routeNode); route != "" && s.IntN(4) == 0 {
		t := &term{op: "read", name: route}
		if s.IntN(2) == 0 {
			t = &term{op: "??", args: []*term{t, {op: "num", n: 7}}}
		}
		return &term{op: "is", s: routeName(s.IntN(3)), args: []*term{t}}
	}
	if depth > 0 {
		switch s.IntN(6) {
		case 0:
			return &term{op: "&&", args: []*term{s.condition(0), s.condition(depth - 1)}}
		case 1:
			return &term{op: "||", args: []*term{s.condition(depth - 1), s.condition(0)}}
		case 2:
			return &term{op: "not", args: []*term{s.condition(depth - 1)}}
		}
	}
	if s.IntN(3) == 0 {
		return &term{op: "==", args: []*term{s.read(), s.number(0)}}
	}
	return &term{op: "<", args: []*term{s.read(), s.number(0)}}
}

// where is the condition of an output: over the graph's names and its own, of which `epoch` is
// one and no function.
func (s *termSource) where(from string) *term {
	t := s.condition(1)
	value := &term{op: "read", name: "value"}
	switch {
	case s.IntN(3) == 0:
	case s.kinds[from] == routeNode:
		t = &term{op: "is", s: routeName(s.IntN(3)), args: []*term{value}}
	case s.kinds[from] == objectInput:
		t = &term{op: "==", args: []*term{{op: "field", name: "value"}, s.number(0)}}
	default:
		t = &term{op: "<", args: []*term{{op: "??", args: []*term{value, s.constant()}}, s.number(1)}}
	}
	t.nameEpoch()
	return t
}

func (t *term) nameEpoch() {
	if t.op == "epoch" {
		t.op, t.name = "read", "epoch"
	}
	for _, a := range t.args {
		a.nameEpoch()
	}
}

func routeName(i int) string { return "r" + strconv.Itoa(i) }

// The random graphs, as the oracle sees them.

type oracleGate struct{ node, route string }

type oracleNode struct {
	name          string
	term          *term   // nil for a route node
	routes        []*term // conditions of r0, r1, …
	after         []oracleGate
	delay         []string // names that it reads as of the epoch before
	loop          *oracleLoop
	afterAll      bool
	event         *bool
	onError       string
	priority, pos int // pos: declaration index
	rate          int // the lane with a cadence that it runs in, counted from 1; 0 for none
}

type oracleOutput struct {
	from     string
	onChange bool
	emitNull bool
	where    *term // nil for none
}

type oracleGraph struct {
	inputs  []string
	event   map[string]bool
	nodes   map[string]*oracleNode
	outputs []oracleOutput
}
