package feed

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/api"
)

// Doubt is a graph of which is not known whether it follows outputs of others, nor which.
type Doubt struct {
	Graph string
	// Text is its declaration.
	Text string
	// Untaken says that the declaration is not taken yet, as where there is no room for it, and not that it cannot be
	// used.
	Untaken bool
}

// Why says what is the matter with the declaration.
func (d *Doubt) Why() string {
	if d.Untaken {
		return "is not taken by this daemon yet"
	}
	return "cannot be used"
}

// Until says what ends the doubt.
func (d *Doubt) Until() string {
	if d.Untaken {
		return "it is taken, or it is deleted"
	}
	return "it is applied again or deleted"
}

// Doubt says that graph g may be one that follows: which outputs is not known, so none of its tenant's is through until
// the graph is applied, or forgotten.
func (w *Links) Doubt(g api.Ref, d Doubt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.Graph = g.Name
	w.doubts[g] = d
}

// Undoubted ends the doubts about graphs of which it is known what they follow, or that are gone.
func (w *Links) Undoubted(known func(g api.Ref) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.doubts)
	maps.DeleteFunc(w.doubts, func(g api.Ref, _ Doubt) bool { return known(g) })
	if len(w.doubts) < n {
		w.tell()
	}
}

// MayFollow are the graphs of which is not known whether they follow outputs of another, by name.
func (w *Links) MayFollow(leader api.Ref) (list []Doubt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g, d := range w.doubts {
		if g.Tenant == leader.Tenant && g != leader {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b Doubt) int { return cmp.Compare(a.Graph, b.Graph) })
	return list
}
