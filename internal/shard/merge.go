package shard

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/sink"
)

// merger makes one order of what the shards do.
type merger struct {
	f       *Front
	in      chan *batch
	reached chan int64 // the time at which the last shard was done with a step of the end
	epoch   int64
	letter  int64
	seq     []int64 // by output: messages so far

	chunks []*chunk
	next   []int // by shard: its next entry
	out    []int // where the messages of that begin
	told   []int // where its letters do
	heap   []int // shards that have one
}

func newMerger(f *Front) *merger {
	n := f.cfg.Shards
	return &merger{
		f: f, in: make(chan *batch, batchesAhead), reached: make(chan int64, 1),
		seq: make([]int64, len(f.cfg.Unit.Spec.Outputs)), chunks: make([]*chunk, n),
		next: make([]int, n), out: make([]int, n), told: make([]int, n), heap: make([]int, 0, n),
	}
}

// run merges batches until there are none.
func (m *merger) run(ctx context.Context) {
	for {
		var b *batch
		select {
		case b = <-m.in:
		case <-ctx.Done():
			return
		}
		if b == nil {
			return
		}
		for s, w := range m.f.workers {
			select {
			case m.chunks[s] = <-w.done:
			case <-ctx.Done():
				return
			}
		}
		if err := m.batch(); err != nil {
			m.f.cancel(err)
			return
		}
		m.recycle(b)
	}
}

func (m *merger) recycle(b *batch) {
	now := int64(never)
	for s, c := range m.chunks {
		now = max(now, c.now)
		m.chunks[s] = nil
		select {
		case m.f.chunks <- c:
		default:
		}
	}
	step := b.last
	b.last = notYet
	m.f.recycle(b)
	if step == awaited || step == handed {
		m.reached <- now
	}
}

// batch merges the chunks of one batch.
func (m *merger) batch() error {
	m.heap = m.heap[:0]
	for s, c := range m.chunks {
		m.next[s], m.out[s], m.told[s] = 0, 0, 0
		if len(c.entries) > 0 {
			m.heap = append(m.heap, s)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		s := m.heap[0]
		c := m.chunks[s]
		if err := m.tell(s, &c.entries[m.next[s]]); err != nil {
			return err
		}
		if m.next[s]++; m.next[s] == len(c.entries) {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.down(0)
	}
	for _, c := range m.chunks {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// tell releases what came of an entry of shard s, under the numbers of one graph.
func (m *merger) tell(s int, e *entry) error {
	c := m.chunks[s]
	m.epoch += e.epochs
	out := c.out[m.out[s]:e.out]
	for i := range out {
		msg := &out[i]
		m.seq[msg.To]++
		msg.Epoch, msg.Seq = m.epoch, m.seq[msg.To]
	}
	letters := c.letters[m.told[s]:e.letters]
	m.out[s], m.told[s] = e.out, e.letters
	for i := range letters {
		l := &letters[i]
		m.letter++
		l.ID = fmt.Sprintf("%s-%06x", l.ID[:strings.LastIndexByte(l.ID, '-')], m.letter)
		if l.Epoch != 0 {
			l.Epoch = m.epoch
		}
		if err := m.f.cfg.Letter(l); err != nil {
			return err
		}
	}
	return m.release(out)
}

func (m *merger) release(out []sink.Message) error {
	if len(out) == 0 {
		return nil
	}
	return m.f.cfg.Release(out)
}

// less says which of two shards comes first: the one whose next entry does.
func (m *merger) less(a, b int) bool {
	x, y := &m.chunks[a].entries[m.next[a]], &m.chunks[b].entries[m.next[b]]
	c := x.round.compare(y.round)
	switch {
	case c != 0:
		return c < 0
	case x.fired != y.fired:
		return y.fired
	}
	if c = x.of.compare(&y.of, m.f.orders); c != 0 {
		return c < 0
	}
	return a < b
}

// down puts the i-th of the heap in its place.
func (m *merger) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(m.heap) {
			return
		}
		if right := least + 1; right < len(m.heap) && m.less(m.heap[right], m.heap[least]) {
			least = right
		}
		if !m.less(m.heap[least], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
