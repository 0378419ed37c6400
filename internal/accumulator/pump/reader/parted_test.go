package reader_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
)

// parted is a tape that reads a part of its partitions.
type parted struct {
	*tape
	has func(int) bool
}

func (p *parted) Portion(_ int, has func(int) bool) { p.has = has }

func (p *parted) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	r := p.rig
	r.opened(from)
	for n := range r.events.Load() {
		ev := event(n)
		if part := partitioner.NumberOf(ev.Pos.Stream); !p.has(part) || slices.ContainsFunc(from,
			func(at boundary.Position) bool { return at.Stream == ev.Pos.Stream && at.Offset >= ev.Pos.Offset }) {
			continue
		}
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev)); err != nil {
			return err
		}
	}
	r.word(fmt.Sprint(p.has(0), p.has(1)))
	<-ctx.Done()
	return nil
}

// M49: where shards read partitions of their own each is given these alone, from where it stands, and what nobody takes
// part for is not read: also when who has had it leaves.
func TestM49PartitionsHaveAShardEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100, func(r *rig) accumulator.Source { return &parted{tape: &tape{rig: r}} })
		r.partitioned()
		one, two := r.enterAs(0, at(0, 10), at(1, 3)), r.enterAs(1, at(1, 20))
		settle()
		one.only(t, 0, 40)
		two.only(t, 1, 30)
		if err := one.leave(); err != nil {
			t.Fatal(err)
		}
		settle()
		if said := r.said(); said[len(said)-1] != "false true" {
			t.Errorf("read in the end: %v", said)
		}
		again := r.enterAs(0, at(0, 50))
		settle()
		again.only(t, 0, 0)
		two.only(t, 1, 30)
	})
}

// partitioned has the shards read partitions of their own.
func (r *rig) partitioned() { r.share.Partitioned = true }

func (r *rig) word(w string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words = append(r.words, w)
}

func (r *rig) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.words)
}

// only checks that a shard was given so many events, of one partition alone.
func (s *shard) only(t *testing.T, partition, events int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.given {
		if partitioner.NumberOf(g[:3]) != partition {
			t.Errorf("it was given %s", g)
		}
	}
	if len(s.given) != events {
		t.Errorf("it was given %d events of partition %d, want %d", len(s.given), partition, events)
	}
}
