package reactor

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor/form"
)

// What nodes call for is answered between two tries of their epoch (0285): a try that misses an answer leaves
// everything as it was, what it asked for is in Asked, and Answer brings what came of it. In between the core has not
// fired.

// ErrUnanswered says that a commanded epoch asks for what is not there yet: see [Core.Asked]. It is to be tried again
// when [Core.Answer] has brought it.
var ErrUnanswered = errors.New("the epoch waits for an answer to what a node calls")

// Ask is what a node asks for in the next epoch of a key.
type Ask struct {
	Key     boundary.Key
	Node    int
	Request kind.Request
}

// calls are the questions and answers of epochs that have not run. nil in a graph that calls nobody.
type calls struct {
	keys  map[boundary.Key]*pending // "" in a graph without keys
	asked []Ask                     // of the last try that has missed an answer
	used  []reply                   // by the epoch at hand, of the key
	key   boundary.Key              // and with that now()
	at    time.Time
	first *pending // whose try the last Fire was; nil when it has missed nothing
	since int64    // Mono, when that was first tried as the next to fire
}

// pending is a key whose next epoch has been tried.
type pending struct {
	at      time.Time // of the first try that missed an answer, which is the epoch's now(); zero before
	replies []reply
	known   bool // all that it asks for by what is known has been told
}

// reply is the answer to what a node asked for.
type reply struct {
	node   int
	id     kind.RequestID
	answer *kind.Answer
}

// mostAsking bounds the keys that have answers for epochs which never come, such as of a command that was given up.
const mostAsking = 10_000

// pending is what is known for the next epoch of the key at hand.
func (c *Core) pending() *pending {
	a := c.calls.keys[c.cell.key]
	if a == nil {
		if len(c.calls.keys) >= mostAsking {
			clear(c.calls.keys) // they are asked again
		}
		a = &pending{}
		c.calls.keys[c.cell.key] = a
	}
	return a
}

// consult readies the epoch at hand for what its nodes call.
func (c *Core) consult() {
	if c.calls == nil {
		return
	}
	a := c.calls.keys[c.cell.key]
	if a != nil && !a.at.IsZero() {
		c.ep.Now = a.at
	}
	c.calls.key, c.calls.at, c.calls.used = c.cell.key, c.ep.Now, c.calls.used[:0]
	c.ep.Answer = func(node int, r *kind.Request) (*kind.Answer, bool) {
		if c.cfg.Answer != nil {
			answer := c.cfg.Answer(node, r)
			return &answer, true
		}
		if a == nil {
			return nil, false
		}
		id := r.ID()
		for _, has := range a.replies {
			if has.node == node && has.id == id {
				c.calls.used = append(c.calls.used, has)
				return has.answer, true
			}
		}
		return nil, false
	}
}

// missing notes what the try of an epoch has asked for and is not there, if anything, as of the key at hand.
func (c *Core) missing() bool {
	wants := c.res.Wants()
	if len(wants) == 0 {
		return false
	}
	for _, w := range wants {
		c.calls.asked = append(c.calls.asked, Ask{c.cell.key, w.Node, w.Request})
	}
	a := c.pending()
	if a.known = true; a.at.IsZero() {
		a.at = c.calls.at
	}
	c.calls.used = c.calls.used[:0]
	return true
}

// postpone leaves the epoch that was tried to a later try, unless its time is up: then it is run to that end. A
// command has time of its own.
func (c *Core) postpone(cause Cause) bool {
	if !c.missing() {
		return false
	}
	if a := c.pending(); cause != CauseForce && c.calls.first != a {
		c.calls.first, c.calls.since = a, 0
		if c.cfg.Mono != nil {
			c.calls.since = c.cfg.Mono()
		}
	}
	if cause != CauseForce && c.patience() <= 0 {
		c.calls.asked = nil
		c.ep.Interrupt = func() error { return graph.ErrEpochTimeout }
		c.cfg.Plan.Run(&c.cell.nodes, &c.ep, &c.res)
		return false
	}
	c.epoch--
	c.stay()
	c.cut.reset()
	return true
}

// answered forgets what was known for the next epoch of a key: it has ended, or will not come.
func (c *Core) answered(key boundary.Key) {
	if c.calls == nil {
		return
	}
	if c.calls.first == c.calls.keys[key] { // another key's epoch goes on waiting
		c.calls.first = nil
	}
	delete(c.calls.keys, key)
}

// ask begins a try.
func (c *Core) ask() {
	if c.calls != nil {
		c.calls.asked = nil
	}
}

// Asked is what the last Fire, or the last commanded epoch that was [ErrUnanswered], has asked for and is not there.
// Fire has answered false for it alone.
func (c *Core) Asked() []Ask {
	if c.calls == nil {
		return nil
	}
	return c.calls.asked
}

// Asking reports whether the last Fire has missed an answer.
func (c *Core) Asking() bool { return c.calls != nil && c.calls.first != nil && len(c.calls.asked) > 0 }

// Patience is how long what the last Fire has missed is waited for; then the epoch fails. Without a bound it is long.
func (c *Core) Patience() time.Duration {
	if !c.Asking() {
		return time.Hour
	}
	return max(c.patience(), 0)
}

func (c *Core) patience() time.Duration {
	if c.cfg.Mono == nil || c.cfg.EpochTimeout <= 0 {
		return time.Hour
	}
	return c.cfg.EpochTimeout - time.Duration(c.cfg.Mono()-c.calls.since)
}

// Steady says that what is admitted does not change the cut of what waits to fire, so that an epoch which waits for
// an answer asks for the same when more has come.
func (c *Core) Steady() bool {
	return !slices.ContainsFunc(c.cfg.Inputs, func(in Input) bool {
		return !in.Sequential || in.Group != 0 || in.Table != nil || in.Global
	})
}

// Answer brings what came of a call. What nobody waits for any more is dropped, and answered false.
func (c *Core) Answer(key boundary.Key, node int, id kind.RequestID, answer *kind.Answer) bool {
	if c.calls == nil {
		return false
	}
	a := c.calls.keys[key]
	if a == nil {
		return false
	}
	a.replies, a.known = append(a.replies, reply{node, id, answer}), false
	return true
}

// Ahead are the questions of the epochs that come next, of at most so many keys, as far as they can be told before
// those before them have run, and as far as they have not been told. A graph without keys has none.
func (c *Core) Ahead(most int) []Ask {
	if c.calls == nil || c.cfg.Keys == nil || !c.mayFire() {
		return nil
	}
	kept, first := c.calls.asked, c.calls.first
	c.calls.asked = nil
	cell := c.cell
	for n, e := range c.keys.agenda.ready.first(most) {
		c.cell = e.k
		if a := c.calls.keys[e.k.key]; a == nil || !a.known {
			c.scout(int64(n))
		}
	}
	found := c.calls.asked
	c.cell, c.calls.asked, c.calls.first = cell, kept, first
	return found
}

// scout tries the epoch of the key at hand aside, behind so many others.
func (c *Core) scout(behind int64) {
	cause := c.readiness(c.cell).cause
	c.fillCut(cause)
	c.snapshot()
	c.prepare(c.epoch+1+behind, cause)
	c.ep.Aside = true
	holds := true
	if c.cfg.Guard {
		holds, _, _ = c.cfg.Plan.GuardHolds(&c.cell.nodes, &c.ep, &c.work.guard)
	}
	if holds {
		c.cfg.Plan.Run(&c.cell.nodes, &c.ep, &c.res)
		c.missing()
	}
	c.pending().known = true
	c.calls.used = c.calls.used[:0]
	c.cut.reset()
}

// first are the first entries of a heap, in order.
func (h heap) first(most int) (list []entry) {
	if len(h) == 0 {
		return nil
	}
	next := []int{0} // may come next, in order
	for len(next) > 0 && len(list) < most {
		i := next[0]
		next = next[1:]
		list = append(list, h[i])
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			at, _ := slices.BinarySearchFunc(next, child, func(a, b int) int {
				if h.less(a, b) {
					return -1
				}
				return 1
			})
			next = slices.Insert(next, at, child)
		}
	}
	return list
}

// logAnswers notes the answers that an epoch has used, before it.
func (c *Core) logAnswers() {
	if c.calls == nil || len(c.calls.used) == 0 {
		return
	}
	for _, r := range c.calls.used {
		dst := form.AppendText(c.note(logAnswer), string(c.calls.key))
		dst = form.AppendText(form.AppendText(dst, c.cfg.Plan.Nodes()[r.node].Name), r.id[:])
		dst = binary.AppendVarint(form.AppendTime(dst, c.calls.at), int64(r.answer.Status))
		dst = form.AppendText(form.AppendText(dst, r.answer.Body), r.answer.Code)
		c.journal.buf = form.AppendText(dst, r.answer.Text)
	}
	c.calls.used = c.calls.used[:0]
}

// answer takes in an answer that an epoch has used.
func (r *Replayer) answer(in *form.Reader) {
	key, name := boundary.Key(in.Text()), in.Text()
	var id kind.RequestID
	copy(id[:], in.Text())
	at := in.Time()
	a := &kind.Answer{Status: int(in.Int())}
	a.Body, a.Code, a.Text = []byte(in.Text()), in.Text(), in.Text()
	c := r.c
	node := slices.IndexFunc(c.cfg.Plan.Nodes(), func(n graph.Node) bool { return n.Name == name })
	if in.Err != nil || c.calls == nil || node < 0 || !r.fires() {
		return // what is fired anew asks anew
	}
	known := c.calls.keys[key]
	if known == nil {
		known = &pending{}
		c.calls.keys[key] = known
	}
	known.at, known.replies = at, append(known.replies, reply{node, id, a})
}
