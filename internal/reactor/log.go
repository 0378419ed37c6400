package reactor

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// The journal of a core is the log of the calls that decide its epochs: what was admitted,
// and each fire and command with its time. The same calls on the checkpoint before them give
// the same epochs, so a replay needs to know nothing of criteria, health or clocks. Calls
// that changed nothing are left out.
const (
	logBegin  = 'B' // a start: incarnation, plan hash
	logClock  = 'C' // what follows, up to the next start, goes by the event clock
	logJoin   = 'J' // input, identity: the join that takes the input, up to the next start
	logAdmit  = 'A' // now, input, conflated, boundaries, dead letters
	logTable  = 'G' // now, input, identity, changes: of the table that the handoff behind it refers to
	logLate   = 'L' // now, input, boundaries: late events of the handoff before
	logMark   = 'M' // input, account: where the accumulator stands at the end of the entry; of no input see logKeys
	logTick   = 'T' // now: keys expired
	logFire   = 'F' // now, outcome
	logForce  = 'X' // now, key, outcome: only the outputs that ticked
	logShow   = 'Y' // the same: every output's current value
	logWith   = 'W' // now, key, replace, values, outcome
	logPause  = 'P' // now, by
	logResume = 'R' // now
	logBack   = 'K' // now: engine time was set back
	logFollow = 'f' // now, input, time: a stage has come to that time
	logOpen   = 'O' // the instant that is open at the end of the entry; without it none is
	logAnswer = 'N' // now, key, node, digest of the question, the epoch's now, answer or kind: of the key's next fire
	logHeard  = 'H' // now, input, n times place and time: of other shards, in what is admitted next of the input
	logPace   = 'Z' // now, instant: the cadences of lanes that have not begun begin behind it
	logFeed   = 'E' // now, input, time, raw, origin: an event of a stage that is not its node's
	// and logStop, see stopped.go
)

// maxEntry is about how many bytes make an entry full, so that one is never too large to
// be read back in one piece.
const maxEntry = 1 << 20

// journal is a core's log since the last entry was taken.
type journal struct {
	buf     []byte
	entries []checkpoint.JournalEntry // cut and not yet taken
	seq     int64                     // the last entry that was cut, or replayed
	keys    []checkpoint.PushKey      // of pushes that the buffer has something of
	keySize int                       // about what they take
	marks   []bool                    // accounts that changed since the last cut
	replay  *replay                   // set while a replay is on
	partial bool                      // marks are to come, without which no entry ends
}

// replay is what the outcome of a logged call was.
type replay struct {
	degraded []string
	timeout  bool
}

// logging reports whether calls are to be noted.
func (c *Core) logging() bool { return c.cfg.Journal && c.journal.replay == nil }

// Begin notes a start in the journal. It comes after Restore and Replay.
func (c *Core) Begin() {
	if c.logging() {
		dst := binary.AppendVarint(append(c.journal.buf, logBegin), c.cfg.Incarnation)
		c.journal.buf = form.AppendText(dst, c.cfg.PlanHash)
		if c.cfg.EventClock {
			c.journal.buf = append(c.journal.buf, logClock)
		}
		c.logKeys()
		joins := c.joins() // what is admitted behind it goes to these
		for _, name := range slices.Sorted(maps.Keys(joins)) {
			c.journal.buf = form.AppendText(form.AppendText(append(c.journal.buf, logJoin), name), joins[name])
		}
		c.logCaught()
	}
}

// logKeys notes what gives boundaries the keys that they are admitted with, up to the next start. It is the account of
// an input that no graph can have: a release that does not know of it passes it over, as that of an input that is gone.
func (c *Core) logKeys() {
	keys := c.cfg.keyIdentities()
	if len(keys) == 0 {
		return
	}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		data = form.AppendText(form.AppendText(data, name), keys[name])
	}
	c.journal.buf = form.AppendText(form.AppendText(append(c.journal.buf, logMark), keysName), data)
}

// logCaught notes which sides trail no more, in the same way: where one of them trails again, and at each start.
func (c *Core) logCaught() {
	if !c.logging() || !c.Joins() {
		return
	}
	var data []byte
	for _, name := range c.caughtNames() {
		data = form.AppendText(data, name)
	}
	c.journal.buf = form.AppendText(form.AppendText(append(c.journal.buf, logMark), caughtName), data)
}

// keysName and caughtName are the names of no input.
const keysName, caughtName = " keys", " caught"

// DrainJournal hands out the entries made since the last call; the caller appends them to
// the store before anything that follows from them leaves the graph.
func (c *Core) DrainJournal() []checkpoint.JournalEntry {
	c.cutJournal()
	entries := c.journal.entries
	c.journal.entries = nil
	return entries
}

// NextJournalSeq is the entry that everything logged so far is in, or will be.
func (c *Core) NextJournalSeq() int64 {
	if len(c.journal.buf) > 0 {
		return c.journal.seq + 1
	}
	return c.journal.seq
}

// JournalSeq is the last entry that was cut, or replayed.
func (c *Core) JournalSeq() int64 { return c.journal.seq }

// Logged reports whether something waits to be taken.
func (c *Core) Logged() bool { return len(c.journal.buf) > 0 || len(c.journal.entries) > 0 }

// LogBytes is about how much waits to be taken.
func (c *Core) LogBytes() int {
	n := len(c.journal.buf) + c.journal.keySize
	for i := range c.journal.entries {
		n += len(c.journal.entries[i].Data)
	}
	return n
}

// cutJournal makes an entry of what is in the buffer.
func (c *Core) cutJournal() {
	j := &c.journal
	if len(j.buf) == 0 {
		return
	}
	c.passOpen()
	for i, changed := range j.marks {
		if changed {
			j.buf = form.AppendText(append(j.buf, logMark), c.cfg.Inputs[i].Name)
			account := sealedAccount{input: i, mark: c.accs[i].mark, restored: c.restoredState(i)}
			if c.cfg.Inputs[i].Table != nil {
				account.mark.State = nil // its changes were noted with what was admitted
			}
			j.buf = form.AppendText(j.buf, account.kept(c.cfg.Inputs[i].Identity).Append(nil, true))
			j.marks[i] = false
		}
	}
	if at, open := c.Open(); open {
		j.buf = form.AppendTime(append(j.buf, logOpen), form.NanoTime(at))
	}
	j.seq++
	at := c.housekeeping()
	for i := range j.keys {
		j.keys[i].At = at
	}
	j.entries = append(j.entries, checkpoint.JournalEntry{Seq: j.seq, At: at, Data: j.buf, Keys: j.keys})
	j.buf, j.keys, j.keySize = nil, nil, 0
}

func (c *Core) note(kind byte) []byte {
	if len(c.journal.buf) >= maxEntry && !c.journal.partial {
		c.cutJournal()
	}
	return form.AppendTime(append(c.journal.buf, kind), c.now)
}

func (c *Core) logAdmit(i int, h *accumulator.Handoff, conflated int64) {
	if !c.logging() {
		return
	}
	dst := c.noteAdmit(i, h)
	dst = binary.AppendVarint(form.AppendText(dst, c.cfg.Inputs[i].Name), conflated)
	dst = binary.AppendUvarint(dst, uint64(len(h.Boundaries)))
	for k := range h.Boundaries {
		dst = form.AppendBoundary(dst, &h.Boundaries[k])
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.DeadLetters)))
	for k := range h.DeadLetters {
		letter, err := json.Marshal(&h.DeadLetters[k])
		if err != nil {
			panic(fmt.Sprintf("reactor: a dead letter cannot be encoded: %v", err))
		}
		dst = form.AppendText(dst, letter)
	}
	c.journal.buf = dst
	c.journal.marks[i] = true
	for k := range h.Keys {
		c.journal.keySize += len(h.Keys[k].Outcome) + 256
	}
	c.journal.keys = append(c.journal.keys, h.Keys...)
	if len(h.Late) > 0 {
		// In the same entry, whatever its size: an entry ends with the mark, which is behind both.
		dst = form.AppendText(form.AppendTime(append(dst, logLate), c.now), c.cfg.Inputs[i].LateTo)
		dst = binary.AppendUvarint(dst, uint64(len(h.Late)))
		for k := range h.Late {
			dst = form.AppendBoundary(dst, &h.Late[k])
		}
		c.journal.buf = dst
	}
}

func (c *Core) logHeard(i int, heard []fold.Heard) {
	if len(heard) == 0 || !c.logging() {
		return
	}
	c.journal.buf = form.AppendHeard(form.AppendText(c.note(logHeard), c.cfg.Inputs[i].Name), heard)
}

func (c *Core) logTick() {
	if c.logging() {
		c.journal.buf = c.note(logTick)
	}
}

func (c *Core) logFire() {
	if c.logging() {
		c.logAnswers()
		c.journal.buf = c.appendOutcome(c.note(logFire))
	}
}

func (c *Core) logForce(key boundary.Key, onlyChanged bool) {
	if !c.logging() {
		return
	}
	kind := byte(logShow)
	if onlyChanged {
		kind = logForce
	}
	c.logAnswers()
	c.journal.buf = c.appendOutcome(form.AppendText(c.note(kind), string(key)))
}

func (c *Core) logWith(key boundary.Key, values []boundary.Value, replace bool) {
	if !c.logging() {
		return
	}
	c.logAnswers()
	dst := form.AppendText(c.note(logWith), string(key))
	dst = append(dst, boolByte(replace))
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = v.AppendBinary(dst)
	}
	c.journal.buf = c.appendOutcome(dst)
}

func (c *Core) logPause(by string) {
	if c.logging() {
		c.journal.buf = form.AppendText(c.note(logPause), by)
	}
}

func (c *Core) logResume() {
	if c.logging() {
		c.journal.buf = c.note(logResume)
	}
}

func (c *Core) logBack() {
	if c.logging() {
		c.journal.buf = c.note(logBack)
	}
}

func (c *Core) logFollow(i int, to time.Time) {
	if c.logging() {
		c.journal.buf = form.AppendTime(form.AppendText(c.note(logFollow), c.cfg.Inputs[i].Name), to)
	}
}

func (c *Core) logFeed(i int, ev *boundary.Event) {
	if c.logging() {
		dst := form.AppendTime(form.AppendText(c.note(logFeed), c.cfg.Inputs[i].Name), ev.At)
		c.journal.buf = form.AppendText(form.AppendText(dst, ev.Raw), ev.Origin)
	}
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendOutcome notes what a fire came to: the epoch after it, whether its time ran out,
// what was degraded. The first tells a replay that goes astray; the others do not follow
// from the log.
func (c *Core) appendOutcome(dst []byte) []byte {
	dst = binary.AppendVarint(dst, c.epoch)
	dst = append(dst, boolByte(c.timedOut))
	if c.life.state == HealthLive {
		return form.AppendNames(dst, nil)
	}
	return form.AppendNames(dst, c.Degraded())
}

// degradedNow names what is degraded, in a replay what was.
func (c *Core) degradedNow() []string {
	if c.journal.replay != nil {
		return c.journal.replay.degraded
	}
	if c.life.state == HealthLive {
		return nil
	}
	return c.Degraded()
}
