package feed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// outputOf names an output.
type outputOf struct {
	graph  api.Ref
	output string
}

// kept is an output whose values wait in its outbox until every graph that follows has them in a checkpoint.
type kept struct {
	mu sync.Mutex
	by *holder // who delivers it; nil while its graph does not run here
	// stream is what positions in it are of, "" before there is a value: another one after a reset of its graph. last
	// is the last number that is known to be committed.
	stream string
	last   int64
	// durable is by who follows how far the stream is in a checkpoint there.
	durable map[End]int64
	next    chan struct{} // closed, and made anew, whenever one of these changes
}

// keptOf is what is known of an output that is followed.
func (w *Links) keptOf(of outputOf) *kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kept[of]
	if k == nil {
		k = &kept{durable: make(map[End]int64), next: make(chan struct{})}
		w.kept[of] = k
	}
	return k
}

// forgetKept lets go of what is known of a graph that was removed. The caller holds the lock.
func (w *Links) forgetKept(g api.Ref) {
	for of, k := range w.kept {
		k.mu.Lock()
		for to := range k.durable {
			if to.Graph == g {
				delete(k.durable, to)
			}
		}
		idle := k.by == nil && len(k.durable) == 0
		k.mu.Unlock()
		if idle && of.graph == g && len(w.claimed.outgoing[g]) == 0 {
			delete(w.kept, of)
		}
	}
}

// tell wakes who waits for a change. The caller holds the lock.
func (k *kept) tell() {
	close(k.next)
	k.next = make(chan struct{})
}

// acknowledge notes that a follower has all up to a position in a checkpoint.
func (k *kept) acknowledge(to End, at boundary.Position) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.Stream == k.stream && at.Offset > k.durable[to] {
		k.durable[to] = at.Offset
		k.tell()
	}
}

// begin notes where a follower goes on: what it has said before of what is behind that holds no more, as after a reset.
func (k *kept) begin(to End, from []boundary.Position) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at := offsetOf(from, k.stream); at < k.durable[to] {
		k.durable[to] = at
	}
}

// offsetOf is the offset of a stream among positions; 0 where it is not there.
func offsetOf(positions []boundary.Position, stream string) int64 {
	for _, p := range positions {
		if p.Stream == stream {
			return p.Offset
		}
	}
	return 0
}

// Hold is the sink of an output that other graphs follow. It takes nothing away: a value is through when every graph
// that is declared to follow has it in a checkpoint, and until then it is in the outbox, which bounds how far one of
// them may fall back before the graph stops firing.
func (w *Links) Hold(from api.Ref, output string) sink.Sink {
	of := outputOf{from, output}
	h := &holder{links: w, of: of, k: w.keptOf(of)}
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	h.k.by = h
	h.k.tell()
	return h
}

// holds reports whether an output is kept for followers now.
func (w *Links) holds(of outputOf) bool {
	w.mu.Lock()
	k := w.kept[of]
	w.mu.Unlock()
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by != nil
}

// holder is what Hold makes.
type holder struct {
	links *Links
	of    outputOf
	k     *kept
}

// holdPatience is how long a delivery waits before it is told whom for. Followers say what they have with their
// checkpoints, a second apart by default.
const holdPatience = 30 * time.Second

// Committed implements [sink.Announced]: who follows reads it now.
func (h *holder) Committed(batch []sink.Message) {
	m := &batch[len(batch)-1]
	stream := fmt.Sprintf("graph/%s/%s", m.Instance, m.Output)
	k := h.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by != h {
		return // a later run of the graph has it
	}
	if k.stream != stream {
		k.stream, k.last = stream, 0
		clear(k.durable)
	} else if m.Seq <= k.last {
		return
	}
	k.last = m.Seq
	k.tell()
}

// Deliver implements [sink.Sink].
func (h *holder) Deliver(ctx context.Context, batch []sink.Message) error {
	h.Committed(batch)
	timer := time.NewTimer(holdPatience)
	defer timer.Stop()
	seen := int64(-1) // by the one that is the furthest back
	for {
		changed := h.links.next()
		// Before the followers are looked at: a doubt ends once what it was about is among these.
		if who := h.links.MayFollow(h.of.graph); len(who) > 0 {
			return fmt.Errorf("the declaration of graph %q %s, and it may be one that follows; the values wait until "+
				"%s", who[0].Graph, who[0].Why(), who[0].Until())
		}
		next, behind, has := h.behind(batch[len(batch)-1].Seq)
		if has > seen {
			seen = has
			timer.Reset(holdPatience)
		}
		if behind == nil {
			return nil
		}
		if _, err := h.links.graphs.Mailbox(*behind); err != nil {
			return err
		}
		select {
		case <-next:
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("the graph %[1]q, which follows, has not made it durable; graphd describe %[1]s says "+
				"what keeps it, and graphd resume %[1]s has it go on where it is paused", behind.Graph.Name)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// behind is the follower that is the furthest back of those that do not have all up to a number, nil for none, and what
// it has.
func (h *holder) behind(seq int64) (next <-chan struct{}, behind *End, has int64) {
	ends := h.links.followers(h.of)
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	has = seq
	for i := range ends {
		if at := h.k.durable[ends[i]]; at < has {
			behind, has = &ends[i], at
		}
	}
	return h.k.next, behind, has
}

// Close implements [sink.Sink].
func (h *holder) Close(context.Context) error {
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	if h.k.by == h {
		h.k.by = nil
		h.k.tell()
	}
	return nil
}

// followers are the ends of the links by which an output is followed, of all that runs or is about to.
func (w *Links) followers(of outputOf) (ends []End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.claimed.outgoing[of.graph] {
		if l.follows && l.output == of.output {
			ends = append(ends, l.to)
		}
	}
	return ends
}

// Reader is an accumulator that reads an output of another graph.
type Reader struct {
	Output string
	By     End
	// Follows says that what it has not read is kept for it.
	Follows bool
}

// Readers are the accumulators that read outputs of a graph by their own declarations, of all that runs or is about
// to.
func (w *Links) Readers(g api.Ref) (list []Reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.claimed.outgoing[g] {
		if r := (Reader{l.output, l.to, l.follows}); !l.bySink && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// Tell has the summary of a graph tell who follows its outputs.
func (w *Links) Tell(from api.Ref, s *api.GraphSummary) {
	for i := range s.Outputs {
		o := &s.Outputs[i]
		o.Followers = w.following(from, o.Name, o.Pending)
	}
}

// following tells who follows an output by what is declared, and how many of its values each does not have in a
// checkpoint. pending are those that wait for one at least.
func (w *Links) following(from api.Ref, output string, pending int64) (list []api.Follower) {
	of := outputOf{from, output}
	ends := w.followers(of)
	if len(ends) == 0 {
		return nil
	}
	k := w.keptOf(of)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, to := range ends {
		f := api.Follower{Graph: to.Graph.Name, Accumulator: to.Accumulator}
		if k.by != nil && (pending == 0 || k.stream != "") {
			// After a start nobody has said yet what it has; it has all that does not wait.
			f.Behind = new(min(pending, max(0, k.last-k.durable[to])))
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b api.Follower) int {
		return cmp.Or(cmp.Compare(a.Graph, b.Graph), cmp.Compare(a.Accumulator, b.Accumulator))
	})
	return list
}
