package reactor

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/reactor/answers"
	"github.com/graphd/graphd/internal/reactor/form"
)

// What nodes call for is answered between two tries of their epoch (0285): a try that misses an answer leaves
// everything as it was, what it asked for is in Asked, and Answer brings what came of it. In between the core has not
// fired.

// ErrUnanswered says that a commanded epoch asks for what is not there yet. It is to be tried again when [Core.Answer]
// has brought it: see [Core.Trying].
var ErrUnanswered = errors.New("the epoch waits for an answer to what a node calls")

// Ask is what a node asks for in the next epoch of a key.
type Ask = answers.Ask

// calls are the questions and answers of epochs that have not run. nil in a graph that calls nobody.
type calls struct {
	book answers.Book
	// Of the epoch at hand: how it is answered, its key and now(), and whether that is of a try before.
	answers.Try
	key     boundary.Key
	at      time.Time
	past    bool
	command *answers.Epoch // the commanded epoch that is tried now; nil for none
	missed  bool           // the last Fire has
	first   *answers.Epoch // whose try that was, or one before it; nil when it has missed nothing
	since   int64          // Mono, when that was first tried as the next to fire
	line    answers.Line   // the epochs that come next, as [Core.Ahead] has gone through them
	trust   answers.Trust  // in what is foreseen; see [Core.Foresee]
}

// commanded says of a cause that somebody waits for the epoch.
func commanded(cause Cause) bool { return cause == CauseForce || cause == CauseWith }

// Trying has f command an epoch, which e stands for over all its tries: what is asked and answered for it is its own.
// Where f comes to [ErrUnanswered] it has asked for e.Asked, and is to be tried again or given up.
func (c *Core) Trying(e *answers.Epoch, f func() error) error {
	if c.calls == nil {
		return f()
	}
	c.calls.command = e
	err := f()
	c.calls.command = nil
	if !errors.Is(err, ErrUnanswered) {
		c.GiveUp(e)
	}
	return err
}

// GiveUp forgets a commanded epoch that nobody waits for any more.
func (c *Core) GiveUp(e *answers.Epoch) {
	if c.calls != nil {
		c.calls.book.End(e)
	}
}

// consult readies the epoch at hand for what its nodes call.
func (c *Core) consult(cause Cause) {
	s := c.calls
	if s == nil {
		return
	}
	hand := s.book.Next(c.cell.key)
	if commanded(cause) && c.journal.replay == nil {
		hand = s.command
	}
	if s.past = hand != nil && !hand.At.IsZero(); s.past {
		c.ep.Now = hand.At
	}
	s.key, s.at = c.cell.key, c.ep.Now
	s.Begin(hand, c.journal.replay != nil)
	c.ep.Answer = s.Answer
}

// missing notes what the try of an epoch has asked for and is not there, if anything.
func (c *Core) missing(cause Cause) bool {
	s, wants := c.calls, c.res.Wants()
	if s.Epoch != nil && s.Epoch.Aside {
		c.judge(s.Epoch, wants)
	}
	if len(wants) == 0 {
		if s.Epoch != nil {
			s.Epoch.Asked = nil
		}
		return false
	}
	s.Used = s.Used[:0]
	switch {
	case !commanded(cause) || c.journal.replay != nil:
		s.Epoch = s.book.Open(s.key, s.first)
	case s.Epoch != nil:
		s.book.Command(s.Epoch, s.key)
	default:
		return true // who commands it does not say how it would be answered
	}
	e := s.Epoch
	e.Asked = make([]Ask, len(wants))
	for i := range wants {
		e.Asked[i] = Ask{Key: s.key, Node: wants[i].Node, ID: wants[i].Request.ID(), Request: wants[i].Request}
	}
	if e.Known = true; e.At.IsZero() {
		e.At, e.Kind = s.at, c.kindOf(cause)
	}
	return true
}

// kindOf is the kind of the epoch at hand.
func (c *Core) kindOf(cause Cause) answers.Kind {
	switch {
	case cause != CauseTick:
		return answers.Called
	case c.tick.Lanes != 0:
		return answers.LaneTick
	default:
		return answers.Tick
	}
}

// tried is the next epoch of the key at hand where a try of it has missed an answer; nil where none has.
func (c *Core) tried() *answers.Epoch {
	if c.calls == nil {
		return nil
	}
	if e := c.calls.book.Next(c.cell.key); e != nil && !e.At.IsZero() {
		return e
	}
	return nil
}

// postpone leaves the epoch that was tried to a later try, unless its time is up: then it is run to that end. A
// command has time of its own.
func (c *Core) postpone(cause Cause) bool {
	if !c.missing(cause) {
		c.remember()
		return false
	}
	s := c.calls
	if !commanded(cause) {
		if s.missed = true; s.first != s.Epoch {
			s.first, s.since = s.Epoch, c.mono()
		}
	}
	if s.Late || !commanded(cause) && c.patience() <= 0 {
		s.missed = false
		c.ep.Interrupt = func() error { return graph.ErrEpochTimeout }
		c.cfg.Plan.Run(&c.cell.nodes, &c.ep, &c.res)
		c.remember()
		return false
	}
	c.epoch--
	c.stay()
	c.cut.reset()
	return true
}

// remember ends what the epoch at hand looked up. One that is run aside leaves no trace but its outputs.
func (c *Core) remember() {
	if !c.ep.Aside {
		c.calls.Memory.End()
	}
}

// Remembered is how many answers of a node were remembered ones.
func (c *Core) Remembered(node int) int64 { return c.calls.Memory.Hits(node) }

// answered forgets what was known for the next epoch of a key: it has ended, or will not come.
func (c *Core) answered(key boundary.Key) {
	s := c.calls
	if s == nil {
		return
	}
	e := s.book.Next(key)
	if e == nil {
		return
	}
	if s.first == e { // another key's epoch goes on waiting
		c.waitAnew()
	}
	if e.Aside && len(e.Asked)+len(e.Replies) > 0 { // it does not come as it was foreseen
		s.trust.Judge(false)
	}
	s.book.Forget(key)
}

// waitAnew ends the wait of the epoch that is next. What has been asked for is still answered; while the graph may not
// fire nobody waits.
func (c *Core) waitAnew() {
	if c.calls != nil {
		c.calls.first, c.calls.missed = nil, false
	}
}

// Asked is what the last Fire has asked for and is not there. Fire has answered false for it alone.
func (c *Core) Asked() []Ask {
	if !c.Asking() {
		return nil
	}
	return c.calls.first.Asked
}

// Asking reports whether the last Fire has missed an answer, and the graph may fire with it.
func (c *Core) Asking() bool {
	return c.calls != nil && c.calls.first != nil && c.calls.missed && c.mayFire()
}

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

func (c *Core) mono() int64 {
	if c.cfg.Mono == nil {
		return 0
	}
	return c.cfg.Mono()
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
	return c.calls != nil && c.calls.book.Answer(key, node, id, answer)
}

// Wanted reports whether what was asked for is still to be asked.
func (c *Core) Wanted(a *Ask) bool { return c.calls != nil && c.calls.book.Wanted(a.Key, a.Node, a.ID) }

// Brimful reports whether there are so many answers that only those are to be asked for without which nothing fires.
func (c *Core) Brimful() bool { return c.calls != nil && c.calls.book.Full() }

// Ahead are the questions of the epochs that come next, of at most so many keys, as far as they can be told before
// those before them have run, and as far as they have not been told. Their nodes run for that, one epoch at least and
// then within a time; more says that there are others. A graph without keys has none.
func (c *Core) Ahead(most int, within time.Duration) (asks []Ask, more bool) {
	if c.calls == nil || c.cfg.Keys == nil || most <= 0 || !c.mayFire() {
		return nil, false
	}
	next := c.keys.agenda.ready.first(most)
	if c.Brimful() {
		// Those that do not come next are asked again when they do; what is foreseen would be asked again at once.
		c.calls.book.Keep(func(e *answers.Epoch) bool {
			return e == c.calls.first || e.Aside ||
				slices.ContainsFunc(next, func(n entry) bool { return n.k.key == e.Key() })
		})
		if c.Brimful() {
			return nil, false
		}
	}
	c.calls.line = answers.Line{Memory: &c.calls.Memory}
	cell, began, scouted, line := c.cell, c.mono(), false, &c.calls.line
	for n, e := range next {
		known := c.calls.book.Next(e.k.key)
		fresh := line.Stale(known) || known.Aside
		if fresh {
			if more = scouted && c.mono()-began >= int64(within); more {
				break
			}
			c.cell, scouted = e.k, true
			c.scout(int64(n))
		}
		asks = line.Next(asks, c.calls.book.Next(e.k.key), fresh)
	}
	c.cell = cell
	return asks, more
}

// scout tries the epoch of the key at hand aside, behind so many others, to learn what it asks for.
func (c *Core) scout(behind int64) {
	cause := c.readiness(c.cell).cause
	c.fillCut(cause)
	c.aside(cause, behind)
}

// aside tries the epoch of the cut aside, behind so many others.
func (c *Core) aside(cause Cause, behind int64) *answers.Epoch {
	c.snapshot()
	c.prepare(c.epoch+1+behind, cause)
	c.ep.Aside = true
	holds := true
	if c.cfg.Guard {
		holds, _, _ = c.cfg.Plan.GuardHolds(&c.cell.nodes, &c.ep, &c.work.guard)
	}
	if holds {
		c.cfg.Plan.Run(&c.cell.nodes, &c.ep, &c.res)
		c.missing(cause)
	}
	e := c.calls.book.Open(c.cell.key, c.calls.first)
	e.Known, e.Aside = true, false
	c.calls.Used = c.calls.Used[:0]
	c.cut.reset()
	return e
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

// logAnswers notes the answers that an epoch has used, before it, and where it was tried before also its now() and its
// kind: what is due when it is recorded may call for another one.
func (c *Core) logAnswers() {
	s := c.calls
	if s == nil {
		return
	}
	if s.past && (len(s.Used) == 0 || s.Epoch.Kind != answers.Called) {
		c.logAnswer("", &answers.Reply{Answer: &kind.Answer{Code: string(s.Epoch.Kind)}})
	}
	for i := range s.Used {
		c.logAnswer(c.cfg.Plan.Nodes()[s.Used[i].Node].Name, &s.Used[i])
	}
	s.Used = s.Used[:0]
}

func (c *Core) logAnswer(node string, r *answers.Reply) {
	dst := form.AppendText(c.note(logAnswer), string(c.calls.key))
	dst = form.AppendText(form.AppendText(dst, node), r.ID[:])
	dst = binary.AppendVarint(form.AppendTime(dst, c.calls.at), int64(r.Answer.Status))
	dst = form.AppendText(form.AppendText(dst, r.Answer.Body), r.Answer.Code)
	c.journal.buf = form.AppendText(dst, r.Answer.Text)
}

// answer takes in an answer that an epoch has used; one of no node tells its now() and its kind alone.
func (r *Replayer) answer(in *form.Reader) {
	key, name := boundary.Key(in.Text()), in.Text()
	var id kind.RequestID
	copy(id[:], in.Text())
	at := in.Time()
	a := &kind.Answer{Status: int(in.Int())}
	a.Body, a.Code, a.Text = []byte(in.Text()), in.Text(), in.Text()
	c := r.c
	node := slices.IndexFunc(c.cfg.Plan.Nodes(), func(n graph.Node) bool { return n.Name == name })
	if in.Err != nil || c.calls == nil || node < 0 && name != "" || !r.fires() {
		return // what is fired anew asks anew
	}
	known := c.calls.book.Open(key, nil)
	if known.At = at; node >= 0 {
		c.calls.book.Add(known, answers.Reply{Node: node, ID: id, Answer: a})
	} else {
		known.Kind = answers.Kind(a.Code)
	}
}
