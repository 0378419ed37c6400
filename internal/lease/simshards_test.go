package lease

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	plantFastest plant = "a reader goes on from the position of its fastest shard"
	plantStay    plant = "a reader stays where it is when a shard comes"
	plantKeep    plant = "a shard takes what lies behind its position"
	plantDrop    plant = "the position moves before the fence is looked at"
	plantHash    plant = "a member deals by another hash"
	plantIdle    plant = "an idle shard is not told how far its input is"
	plantResend  plant = "a commit of unknown outcome is sent again"
	plantLoad    plant = "the position is read before the shard is taken"
)

// simInput is the input of a graph that is dealt: partitions of keys, and what the store has of each shard.
type simInput struct {
	shards int
	parts  [3][]string
	seen   [3][]int // how often each event is in a state
	pos    map[int]simMarks
	ended  bool
}

// simMarks is a position in each partition.
type simMarks [3]int

// simBatch is what one commit of a shard holds.
type simBatch struct {
	pos   simMarks
	taken [][2]int // partition and place
}

// simShard is a shard while it runs.
type simShard struct {
	simBatch
	sent bool // a commit is on its way
}

// deal adds a graph of so many shards whose input grows until it is ended.
func (w *world) deal(shards int) {
	w.input = &simInput{shards: shards, pos: map[int]simMarks{}}
	for n := range shards {
		w.units = append(w.units, checkpoint.ID{Tenant: "t", Graph: "dealt", Shard: n})
	}
	w.grow()
}

func (w *world) grow() {
	in := w.input
	if in.ended {
		return
	}
	p := w.rng.IntN(len(in.parts))
	in.parts[p] = append(in.parts[p], fmt.Sprintf("key%d", w.rng.IntN(40)))
	in.seen[p] = append(in.seen[p], 0)
	w.after(50*time.Millisecond, w.grow)
}

// commit is the store's part of one: events are in the state with the position behind them.
func (w *world) commit(shard int, b *simBatch) {
	in := w.input
	in.pos[shard] = b.pos
	for _, at := range b.taken {
		p, n := at[0], at[1]
		if in.seen[p][n]++; in.seen[p][n] > 1 {
			w.fault("event %d of partition %d is in a state twice", n, p)
		}
		if own := boundary.ShardOf([]byte(in.parts[p][n]), in.shards); own != shard {
			w.fault("event %d of partition %d is in shard %d and not in %d", n, p, shard, own)
		}
	}
}

// uncounted is what of the input is in no state, or not known to a shard as passed.
func (w *world) uncounted() string {
	in := w.input
	for p, seen := range in.seen {
		if n := slices.Index(seen, 0); n >= 0 {
			return fmt.Sprintf("event %d of partition %d is in no state", n, p)
		}
		for shard := range in.shards {
			if at := in.pos[shard][p]; at != len(seen) {
				return fmt.Sprintf("shard %d is at %d of %d in partition %d", shard, at, len(seen), p)
			}
		}
	}
	return ""
}

// begin has the reader of a member read for a shard that it has taken, too.
func (m *simMember) begin(id checkpoint.ID) {
	if id.Graph != "dealt" {
		return
	}
	pos, alone := m.graphs[id].shard.pos, true
	for other, g := range m.shards {
		alone = alone && (other == id.Shard || g.term == nil)
	}
	for p := range pos {
		switch {
		case alone:
			m.reads[p] = pos[p]
		case m.w.plant == plantFastest:
			m.reads[p] = max(m.reads[p], pos[p])
		case m.w.plant != plantStay:
			m.reads[p] = min(m.reads[p], pos[p])
		}
	}
}

// read deals what there is to the shards that run here.
func (m *simMember) read() {
	in := m.w.input
	for p, keys := range in.parts {
		if m.reads[p] >= len(keys) {
			continue
		}
		for n := m.reads[p]; n < len(keys); n++ {
			own := boundary.ShardOf([]byte(keys[n]), in.shards)
			if m.w.plant == plantHash && m.id == "m2" {
				h := fnv.New64a()
				h.Write([]byte(keys[n]))
				own = int(h.Sum64() % uint64(in.shards))
			}
			g := m.shards[own]
			if g.term == nil || n < g.shard.pos[p] && m.w.plant != plantKeep {
				continue
			}
			g.shard.taken = append(g.shard.taken, [2]int{p, n})
			g.shard.pos[p] = n + 1
		}
		m.reads[p] = len(keys)
		for _, g := range m.shards {
			if g.term != nil && m.w.plant != plantIdle {
				g.shard.pos[p] = len(keys)
			}
		}
	}
}

// batch is what a shard has to commit; nil where one is on its way, and in a graph that is not dealt.
func (m *simMember) batch(id checkpoint.ID) *simBatch {
	g := m.graphs[id]
	if id.Graph != "dealt" || g.shard.sent {
		return nil
	}
	m.read()
	b := g.shard.simBatch
	g.shard.taken, g.shard.sent = nil, true
	return &b
}

// committed takes in the answer to a commit: where there was none the shard is loaded anew under a new fence.
func (m *simMember) committed(id checkpoint.ID, fence int64, b *simBatch, ok bool) {
	g := m.graphs[id]
	if b == nil || g.term == nil || g.fence != fence {
		return
	}
	g.shard.sent = false
	switch {
	case ok:
	case m.w.plant == plantResend:
		g.shard.taken = append(b.taken, g.shard.taken...)
	default:
		m.ended(id)
	}
}
