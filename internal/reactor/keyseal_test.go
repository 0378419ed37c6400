package reactor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// cellsOf names the cells of a commit: KIND NAME KEY, with a minus for those it deletes.
func cellsOf(c *checkpoint.Commit) string {
	var list []string
	for _, cell := range c.Cells {
		if cell.Kind == form.CellAccount {
			continue
		}
		name := strings.Trim(cell.Kind+" "+cell.Name+" "+cell.Key, " ")
		if cell.Data == nil {
			name = "-" + name
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// M13, M28: a checkpoint writes the keys that changed since the last one, and no other.
func TestM13CheckpointWritesTheKeysThatChanged(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any }", sumByKey), keyed(nil))
	for _, key := range []string{"x", "y", "z"} {
		r.give("a", key, 1)
	}
	r.fire()
	commit := func(err error) string {
		s := r.c.Seal(r.now)
		c := s.Commit()
		r.c.Sealed(s, err)
		return cellsOf(c)
	}
	r.want(commit(nil), `keys 1, key  "x", key  "y", key  "z"`)
	r.want(commit(nil), "")
	r.give("a", "y", 2)
	r.want(commit(errors.New("the disk is full")), `key  "y"`)
	r.give("a", "z", 3)
	r.want(commit(nil), `key  "y", key  "z"`) // what was not written is written with the next
}

// M13, M28: eviction deletes a key's cells, and only what the store has is deleted.
func TestM13EvictionDeletesCells(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: all, strategy: sequential }", sumByKey), keyed(func(k *Keys) {
		k.TTL = time.Second
	}))
	cells := map[string]checkpoint.Cell{}
	seal := func() string {
		s := r.c.Seal(r.now)
		c := s.Commit()
		r.c.Sealed(s, nil)
		applyCells(cells, c)
		return cellsOf(c)
	}
	r.give("a", "x", 1)
	r.give("a", "y", 1)
	r.want(seal(), `keys 1, queue a/0000000000000001 "x", queue a/0000000000000002 "y", key  "x", key  "y"`)
	r.advance(2 * time.Second)
	r.give("a", "never_sealed", 1)
	r.give("a", "x", 1) // comes again before the eviction is written
	r.advance(500 * time.Millisecond)
	r.give("a", "x", 1)
	r.advance(700 * time.Millisecond)
	r.fire()
	r.want(seal(), `-queue a/0000000000000001 "x", -queue a/0000000000000002 "y", -key  "y", queue `+
		`a/0000000000000004 "x", queue a/0000000000000005 "x", key  "x"`)
	r.balanced()
	if len(cells) != 5 { // the layout, x and what waits for it, the accumulator
		t.Fatalf("the store holds %v", cells)
	}
}

// M12, M13, M28: everything about a key comes back: cache, flags, queues, node values, the
// turn it has, its rate limit, its last arrival and its place among the least recently used.
func TestM13RestoredKeysGoOnWhereTheyWere(t *testing.T) {
	for _, strategy := range []string{"latest", "sequential"} {
		for _, when := range []string{"any", "all"} {
			t.Run(strategy+" "+when, func(t *testing.T) {
				doc := graphOf(bookAndModel, "{ when: "+when+", strategy: "+strategy+", rate_limit: 5ms }", sumByKey)
				opt := keyed(func(k *Keys) { k.TTL, k.Max = time.Second, 4 })
				drive := func(crash int) string {
					r := newRig(t, doc, opt)
					cells := map[string]checkpoint.Cell{}
					var out []string
					for n := range 40 {
						r.give([]string{"a", "b"}[n*7%3%2], string(rune('u'+n*5%6)), n)
						if n%3 == 1 {
							out = append(out, r.fire())
						}
						r.advance(time.Duration(n%4) * time.Millisecond)
						if n == crash {
							r.reload(cells)
							r.start()
						}
					}
					r.advance(time.Second)
					out = append(out, r.fire(), r.keysOf(), fmt.Sprint(len(r.c.deadLetters) > 0))
					return strings.Join(out, "\n")
				}
				want := drive(-1)
				for crash := range 40 {
					if got := drive(crash); got != want {
						t.Fatalf("after a restart at %d:\n%s\nwithout:\n%s", crash, got, want)
					}
				}
			})
		}
	}
}

// M13, M33: what a changed declaration does to keys: a node that computes something else
// starts afresh, a new input makes what reads it due, other keys are other state.
func TestM13KeysUnderAChangedDeclaration(t *testing.T) {
	doc := graphOf(bookAndModel, "{ when: any }", sumByKey)
	r := newRig(t, doc, keyed(nil))
	r.give("a", "x", 1)
	r.give("b", "x", 2)
	r.fire()
	r.give("b", "x", 7) // waits
	cells := map[string]checkpoint.Cell{}
	changed := func(doc string, opts ...option) *rig {
		t.Helper()
		s := r.c.Seal(r.now)
		c := s.Commit()
		r.c.Sealed(s, nil)
		applyCells(cells, c)
		n := &rig{t: t, now: r.now, sent: r.sent}
		n.c = NewCore(testConfig(t, doc, opts...))
		dropped, err := n.c.Restore(checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta}, listCells(cells))
		if err != nil {
			t.Fatal(err)
		}
		t.Log("dropped", dropped)
		n.start()
		return n
	}
	n := changed(strings.Replace(doc, "(b ?? 0)", "(b ?? 0) * 10", 1), keyed(nil))
	n.want(n.fire(), `out=["x",71]@2`)
	n.want(cellsOf(n.c.Seal(n.now).Commit()), `keys 1, keys 2, key  "x"`) // the old layout, without the node

	n = changed(graphOf("  b: {}\n  c: {}\n", "{ when: any }",
		"nodes:\n  n: { expr: '[b, c ?? 0]' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n"), keyed(nil))
	n.give("c", "x", 5)
	n.want(n.fire(), `out=[7,5]@2`)

	n = changed(doc, keyed(func(k *Keys) { k.Identity = "another" }))
	n.want(n.fire(), "")
	if l := n.c.deadLetters; len(l) != 1 || l[0].Code != "key_evicted" || string(l[0].Payload) != "7" {
		t.Fatalf("letters %+v", l)
	}
	n.balanced()
	n.want(cellsOf(n.c.Seal(n.now).Commit()), `-keys 1, -key  "x", keys 2`)

	n = changed(doc) // no keys at all
	n.want(n.fire(), "")
	n.balanced()
	n.want(cellsOf(n.c.Seal(n.now).Commit()), `-keys 1, -key  "x"`)
}

// M13, M33: state of a graph without keys has no place in one with keys; its events are accounted for.
func TestM13UnkeyedStateHasNoKey(t *testing.T) {
	r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: all }", sumByKey))
	r.push("a", 1, 2)
	r.push("b", 3)
	r.fire()
	r.c.Pause(r.now, "op")
	r.push("a", 5)
	r.push("b", 4)
	cells := map[string]checkpoint.Cell{}
	r.reload(cells, keyed(nil))
	r.start()
	r.c.Resume(r.now)
	r.want(r.fire(), "")
	if n := len(r.c.deadLetters); n != 2 {
		t.Fatalf("%d letters", n)
	}
	r.balanced()
	s := r.c.Seal(r.now)
	applyCells(cells, s.Commit())
	if len(cells) != 3 { // two accumulators and the layout
		t.Fatalf("the store holds %v", cells)
	}
}
