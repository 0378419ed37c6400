package builtin

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Many graphs of a large daemon are made of one text that differs in the graph's name alone. What such a text comes to
// is found once and shared.

// alike are the units that others may share, by what they are made of.
type alike struct {
	mu  sync.Mutex
	all map[likeness]weak.Pointer[compile.Unit]
}

// likeness is a hash of a declaration without the name of its graph. The zero one is of a declaration that shares
// nothing.
type likeness [sha256.Size]byte

// mostAlike bounds what is hashed.
const mostAlike = 64 << 10

// likenessOf tells the likeness of a declaration, and the name of its graph, which stands on a line of its own.
func likenessOf(document []byte, file string) (l likeness, name string) {
	const field = "graph: "
	at := 0
	if !bytes.HasPrefix(document, []byte(field)) {
		if at = bytes.Index(document, []byte("\n"+field)) + 1; at == 0 {
			return l, ""
		}
	}
	before := document[:at+len(field)]
	found, behind, _ := bytes.Cut(document[at+len(field):], []byte("\n"))
	if len(document) > mostAlike || !isPlainName(string(found)) || bytes.Contains(before, found) ||
		bytes.Contains(behind, found) || bytes.Contains(document, []byte("${")) { // that is not in the text
		return l, ""
	}
	h := sha256.New()
	if file == "" {
		h.Write([]byte{0}) // from the network less may be reached
	}
	h.Write(before)
	h.Write([]byte{0})
	h.Write(behind)
	h.Sum(l[:0])
	return l, string(found)
}

// isPlainName says that YAML cannot take a name for something else than a text: it has no blank, begins with a letter,
// and is no word.
func isPlainName(name string) bool {
	return decode.ValidName(name) && name[0] >= 'a' && name[0] <= 'z' && strings.ContainsAny(name, "0123456789_")
}

// find is a unit of the likeness; nil for none.
func (a *alike) find(l likeness) *compile.Unit {
	if l == (likeness{}) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[l].Value()
}

// keep has others share a unit, for as long as somebody has it.
func (a *alike) keep(l likeness, name string, u *compile.Unit) {
	if l == (likeness{}) || u.Spec.Name != name || !isShared(u.Spec) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[likeness]weak.Pointer[compile.Unit])
	}
	a.all[l] = weak.Make(u)
	runtime.AddCleanup(u, a.forget, l)
}

// forget forgets a unit that nobody has any more.
func (a *alike) forget(l likeness) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[l].Value() == nil {
		delete(a.all, l)
	}
}

// isShared says that what g comes to is in its text alone, and that its nodes keep nothing beside their graph's state.
func isShared(g *spec.Graph) bool {
	if g.Refers() { // also where YAML's escapes have hidden that: "\u0024{NAME}"
		return false
	}
	for i := range g.Accumulators {
		if g.Accumulators[i].SchemaFile != "" {
			return false
		}
	}
	for i := range g.Nodes {
		if kind := g.Nodes[i].Kind; kind != "expr" && kind != "route" {
			return false
		}
	}
	return true
}

// namesItself says that g has its own name in a source or a sink, where YAML's escapes have hidden it: what is to be
// said of that is said of the text.
func namesItself(g *spec.Graph) bool {
	for i := range g.Accumulators {
		if of, _, _ := g.Accumulators[i].Source.Origin().Graph(); of == g.Name {
			return true
		}
	}
	for i := range g.Outputs {
		if of, _, _ := g.Outputs[i].Sink.Target().Graph(); of == g.Name {
			return true
		}
	}
	return false
}

// share is what a declaration comes to that one of its likeness has come to already; nil where there is none, or
// something is wrong with this one.
func (k *Kinds) share(l likeness, name, file, tenant string) *compile.Unit {
	u := k.lists().alike.find(l)
	if u == nil {
		return nil
	}
	g := u.Spec.Named(name, file, tenant)
	if namesItself(g) || len(k.denied(g)) > 0 || len(k.unconnected(g)) > 0 || len(compile.Merge(k.check(g)...)) > 0 {
		return nil
	}
	return u.Of(g)
}
