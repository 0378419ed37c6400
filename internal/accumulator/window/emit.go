package window

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
	"github.com/graphd/graphd/internal/boundary"
)

// mood is why a window is handed over.
type mood uint8

const (
	moodFinal  mood = iota // it is complete
	moodUpdate             // it was, and has changed
	moodEarly              // it is open
)

// emit hands over panes of a window, in their order. But for early results they account
// for the events that nothing accounts for yet.
func (w *Window) emit(p *instance, m mood, panes []*pane.Pane, out []boundary.Boundary) []boundary.Boundary {
	if w.p.Groups == "all" {
		return w.emitAll(p, m, panes, out)
	}
	for _, g := range panes {
		events := w.account(p, g, m)
		out = w.hand(g, p.start, p.end, m, events, out)
	}
	return out
}

// emitAll hands over a window as one boundary.
func (w *Window) emitAll(p *instance, m mood, panes []*pane.Pane, out []boundary.Boundary) []boundary.Boundary {
	rows := make([]boundary.Value, 0, len(panes))
	b := boundary.Boundary{}
	latest := int64(watermark.NoTime)
	for _, g := range panes {
		slots := w.p.keyFields.Append(make([]boundary.Value, 0, w.p.row.Len()), g.Key)
		slots, bad := w.appendResults(slots, g)
		events := w.account(p, g, m)
		if bad != nil {
			w.fail(g, p.start, p.end, m, bad, events)
			continue
		}
		rows = append(rows, boundary.Object(w.p.row, slots))
		b.Events += events
		b.Links = b.Links.Join(g.Links)
		if b.First.IsZero() || !g.First.IsZero() && g.First.Offset < b.First.Offset {
			b.First = g.First
		}
		if g.At >= latest {
			latest, b.Last = g.At, g.Last
		}
	}
	if len(rows) == 0 {
		return out // every pane is a dead letter
	}
	slots := []boundary.Value{moment1970(p.start), moment1970(p.end), boundary.List(rows)}
	b.Value = boundary.Object(w.p.shape, w.appendMood(slots, m))
	b.At, b.Size = time.Unix(0, latest).UTC(), b.Value.Size()
	return append(out, b)
}

// account takes the events off a pane that its boundary accounts for.
func (w *Window) account(p *instance, g *pane.Pane, m mood) (events int64) {
	if m != moodEarly {
		events = g.Owes
	}
	w.owed -= events
	if m == moodFinal && w.p.Late != "update" || events == 0 && !g.Dirty {
		return events // the window goes at once, or there is nothing to change
	}
	g = p.Own(p.Find(g.Hash, g.Key), w.gen)
	g.Owes -= events
	g.Dirty = false
	return events
}
