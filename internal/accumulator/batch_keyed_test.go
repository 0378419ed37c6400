package accumulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/spec"
)

// batchModel is batches by key the plain way: in the order in which they began.
type batchModel struct {
	size     int
	interval time.Duration
	open     []*modelBatch
	out      []string
}

type modelBatch struct {
	k     string
	since time.Time
	ids   []int
}

func (m *batchModel) add(now time.Time, k string, id int) {
	i := slices.IndexFunc(m.open, func(b *modelBatch) bool { return b.k == k })
	if i < 0 {
		i = len(m.open)
		m.open = append(m.open, &modelBatch{k: k, since: now})
	}
	if m.open[i].ids = append(m.open[i].ids, id); m.size > 0 && len(m.open[i].ids) == m.size {
		m.tell(i)
	}
}

func (m *batchModel) tick(now time.Time) {
	slices.SortFunc(m.open, func(a, b *modelBatch) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.k, b.k))
	})
	for m.interval > 0 && len(m.open) > 0 && !m.open[0].since.Add(m.interval).After(now) {
		m.tell(0)
	}
}

func (m *batchModel) tell(i int) {
	b := m.open[i]
	text, _ := json.Marshal(map[string]any{"key": b.k, "k": b.k, "events": b.ids})
	m.out = append(m.out, fmt.Sprintf("%s +%d", text, len(b.ids)))
	m.open = slices.Delete(m.open, i, i+1)
}

// M3, M42: each key has a batch of its own, which is handed over with so many events, or so long after its first one,
// in the order in which they began; each event is accounted for once. Restored at random points the fold does the same,
// also where others have gone on from a state before, and no handle changes after it was taken.
func TestM3BatchesByKey(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 6))
			m := &batchModel{size: r.IntN(6), interval: time.Duration(r.IntN(5)) * time.Second}
			if m.size == 0 && m.interval == 0 {
				m.size = 3
			}
			p := compile(t, spec.Accumulator{Kind: "batch", EmitExpr: expr("event.id"), Config: batch.Declared{
				Size: m.size, Interval: m.interval, Key: []spec.Expr{expr("event.k")},
			}})
			c := NewCore(p, Limits{MaxEventBytes: 1 << 20})
			var got []string
			var handles []func()
			done, now := int64(0), at(0)
			hear := func() Mark {
				h := &Handoff{}
				c.changed = true
				c.Drain(h)
				for k := range h.Boundaries {
					got = append(got, fmt.Sprintf("%s +%d", h.Boundaries[k].Value.String(), h.Boundaries[k].Events))
				}
				done += events(h)
				if n := h.Mark.Counters; n.Received != n.Open+done {
					t.Fatalf("books %+v, handed over %d", n, done)
				}
				return h.Mark
			}
			type push struct {
				now time.Time
				k   string
			}
			var all []push
			var back goneBack
			add := func(i, id int) {
				if due, ok := c.Due(); ok && !due.After(all[i].now) {
					c.Tick(all[i].now)
				}
				ev := pulled(int64(i+1), fmt.Sprintf(`{"id":%d,"k":%q}`, id, all[i].k))
				if o := c.Add(all[i].now, ev, true); o.Status != Accepted {
					t.Fatalf("event %d: %+v", i, o)
				}
			}
			for i := range 300 {
				now = now.Add(time.Duration(r.IntN(700)) * time.Millisecond)
				k := string(rune('a' + r.IntN(6)))
				all = append(all, push{now, k})
				add(i, i)
				m.tick(now)
				m.add(now, k, i)
				if r.IntN(8) > 0 {
					continue
				}
				mark := hear()
				state := encoded(mark)
				if back.mark.State == nil || r.IntN(4) == 0 {
					back = goneBack{mark, i + 1, len(got)}
				}
				handles = append(handles, func() {
					if !bytes.Equal(encoded(mark), state) {
						t.Error("a handle changed after it was taken")
					}
				})
				if r.IntN(3) == 0 {
					c = restarted(t, r, p, mark)
				}
			}
			c.EndOfInput(now)
			hear()
			slices.SortFunc(m.open, func(a, b *modelBatch) int { return cmp.Compare(a.k, b.k) })
			for len(m.open) > 0 {
				m.tell(0)
			}
			if diff := gocmp.Diff(m.out, got); diff != "" {
				t.Errorf("size %d, interval %v (-want +got):\n%s", m.size, m.interval, diff)
			}
			for _, check := range handles {
				check()
			}
			told := got[back.told:]
			c, got, done = back.core(t, p), nil, back.mark.Counters.Received-back.mark.Counters.Open
			for i := back.next; i < len(all); i++ {
				add(i, i)
			}
			c.EndOfInput(now)
			hear()
			if !slices.Equal(told, got) {
				t.Errorf("gone back to event %d (-want +got):\n%s", back.next, gocmp.Diff(told, got))
			}
			c = back.core(t, p)
			for i := back.next; i < len(all); i++ {
				add(i, -i) // other events than those that later handles have
			}
			for _, check := range handles {
				check()
			}
		})
	}
}

// M4: open batches are bounded together: the one that has waited longest is handed over.
func TestM4BatchesByKeyAreBounded(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "batch", CapacityBytes: 20_000, Config: batch.Declared{
		Size: 10, Key: []spec.Expr{expr("event.k")},
	}})
	for i := range 1000 {
		c.Add(at(0), pulled(int64(i+1), fmt.Sprintf(`{"k":"%d"}`, i)), true)
	}
	h := take(t, c)
	n := len(h.Boundaries)
	if open := h.Mark.Counters.Open; n < 900 || open > 70 || int64(n)+open != 1000 {
		t.Fatalf("%d were handed over, %d are open", n, open)
	}
	for i := range h.Boundaries {
		if key := h.Boundaries[i].Value.Field("k").String(); key != strconv.Quote(strconv.Itoa(i)) {
			t.Fatalf("boundary %d is of %s", i, key)
		}
	}
}
