package reader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/pace"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const declared = `graph: g
accumulators: { a: {} }
reactor: { key: k, shards: %d }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

const shards = 7

// tape is a source of so many events of two partitions, which then waits. Each event's offset is its place in its
// partition.
type tape struct {
	ordered
	rig *rig
}

// ordered knows the order of positions by their offsets, those of one generation.
type ordered struct{}

func (ordered) Behind(a, b boundary.Position) (behind, known bool) {
	return a.Offset < b.Offset, a.IsZero() || a.Stream == b.Stream
}

// unordered is a tape that does not know its positions' order.
type unordered struct{ accumulator.Source }

func (t *tape) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	r := t.rig
	r.opened(from)
	out.Health(accumulator.Live, "")
	if slices.ContainsFunc(from, func(p boundary.Position) bool { return p.Offset < r.removed }) {
		return &accumulator.DataLost{Want: fmt.Sprint(from), Have: fmt.Sprint(r.removed)}
	}
	for n := range r.events.Load() {
		ev := event(n)
		if given(from, ev) {
			continue
		}
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev)); err != nil {
			return err
		}
	}
	if r.ends {
		return r.fails
	}
	accumulator.CaughtUp(out, "", true)
	<-ctx.Done()
	return nil
}

// Follows implements [accumulator.Follower].
func (t *tape) Follows() bool { return true }

// given says that who stands at these positions has had an event.
func given(from []boundary.Position, ev boundary.Event) bool {
	return slices.ContainsFunc(from, func(p boundary.Position) bool {
		return p.Stream == ev.Pos.Stream && p.Offset >= ev.Pos.Offset
	})
}

func event(n int64) boundary.Event {
	return boundary.Event{
		Raw: fmt.Appendf(nil, `{"k":%d,"n":%d,"at":"1970-01-01T00:00:01Z"}`, n%50, n),
		Pos: boundary.Position{Stream: fmt.Sprintf("s/%d#x", n%2), Offset: n/2 + 1},
	}
}

// rig is a reader with the shards that take part.
type rig struct {
	t       *testing.T
	unit    *compile.Unit
	reader  *reader.Reader
	share   *pump.Share
	events  atomic.Int64
	removed int64 // before that offset nothing is left
	ends    bool
	fails   error

	mu    sync.Mutex
	opens [][]boundary.Position
	words []string
	paced atomic.Int64
	waits time.Duration // for so long everything is held back
}

func (r *rig) opened(from []boundary.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opens = append(r.opens, from)
}

// Wait implements [pump.Pace].
func (r *rig) Wait(ctx context.Context, n int, _ int64, waits func(bool)) error {
	if r.waits > 0 {
		waits(false)
		select {
		case <-time.After(r.waits):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.paced.Add(int64(n))
	return nil
}

// Most implements [pump.Pace].
func (r *rig) Most() int { return 0 }

func newRig(t testing.TB, events int64, source func(*rig) accumulator.Source) *rig {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse(fmt.Appendf(nil, declared, shards), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	r := &rig{unit: u, share: &pump.Share{Of: shards, Dealer: u.Dealer(0)}}
	r.t, _ = t.(*testing.T)
	r.events.Store(events)
	r.reader = reader.New(reader.Config{
		Open: func() (accumulator.Source, error) { return source(r), nil },
		LoaderConfig: pump.LoaderConfig{
			Dater: func() *accumulator.Dater { return accumulator.NewDater(u.Programs[0], accumulator.Limits{}) },
			Share: r.share, Pace: r,
		},
	})
	return r
}

// settle waits until nothing happens any more.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func onTape(r *rig) accumulator.Source { return &tape{rig: r} }

// shard is one that takes part, as a line does. What it was given it lets go at once.
type shard struct {
	stop func()
	done chan error

	mu      sync.Mutex
	given   []string // events, by their position
	at      map[string]boundary.Position
	room    int // for how many events more; negative for any number
	starved bool
	decoded int
	words   []string
	before  int // of the words, those it was told before the first event
	ended   error
}

// enter has a shard take part that goes on from positions.
func (r *rig) enter(from ...boundary.Position) *shard { return r.enterAs(0, from...) }

// enterAs is enter of the shard with a number.
func (r *rig) enterAs(number int, from ...boundary.Position) *shard {
	source, err := r.reader.Source(number)
	if err != nil {
		r.t.Fatal(err)
	}
	s := &shard{at: map[string]boundary.Position{}, room: -1, done: make(chan error, 1)}
	for _, p := range from {
		s.at[p.Stream] = p
	}
	ctx, stop := context.WithCancel(r.t.Context())
	s.stop = stop
	go func() { s.done <- source.Run(ctx, from, s) }()
	r.t.Cleanup(func() { _ = s.leave() })
	return s
}

// leave ends a shard, and returns how its source has.
func (s *shard) leave() error {
	s.stop()
	return s.wait()
}

// leave ends shards, and checks that their sources have ended well.
func (r *rig) leave(all ...*shard) {
	r.t.Helper()
	for _, s := range all {
		if err := s.leave(); err != nil {
			r.t.Error(err)
		}
	}
}

// wait waits for the end of a shard's source, and returns how it has ended.
func (s *shard) wait() error {
	select {
	case err, first := <-s.done:
		if first {
			s.ended = err
			close(s.done)
		}
		return s.ended
	case <-time.After(time.Minute):
		return errors.New("its source does not end")
	}
}

func (s *shard) take(events []boundary.Event) {
	if len(s.given) == 0 {
		s.before = len(s.words)
	}
	for i := range events {
		s.given = append(s.given, events[i].Pos.String())
		s.at[events[i].Pos.Stream] = events[i].Pos
		if !events[i].Value.IsAbsent() {
			s.decoded++
		}
	}
}

// Give implements [pump.Loads].
func (s *shard) Give(ctx context.Context, d *pump.Load, first int, relaxed func() bool) error {
	for {
		more := relaxed()
		s.mu.Lock()
		if s.room != 0 || more {
			s.room--
			s.take(d.Events()[first:])
			s.mu.Unlock()
			return nil // an error would say that nothing was taken
		}
		s.mu.Unlock()
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Emit implements [accumulator.Out]: it reads for itself.
func (s *shard) Emit(ctx context.Context, batch []boundary.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(batch)
	return ctx.Err()
}

func (s *shard) Refuse(context.Context, boundary.Event, *accumulator.BadEvent) error { return nil }
func (s *shard) Advance(context.Context, boundary.Position) error                    { return nil }
func (s *shard) Now() time.Time                                                      { return time.Unix(9, 0) }

// set says for how many events more a shard has room, and whether it waits for them.
func (s *shard) set(room int, starved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room, s.starved = room, starved
}

// Held implements [pump.Loads].
func (s *shard) Held(stream string, h pace.Held) { s.word(fmt.Sprintf("%s:%d", stream, h)) }

var _ pump.Loads = (*shard)(nil)

// Starved implements [pump.Loads].
func (s *shard) Starved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starved
}

// Health implements [accumulator.Out].
func (s *shard) Health(h accumulator.Health, _ string) { s.word(string(h)) }

// CaughtUp implements [accumulator.Pace].
func (s *shard) CaughtUp(stream string, caughtUp bool) { s.word(fmt.Sprint(stream, caughtUp)) }

func (s *shard) word(w string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = append(s.words, w)
}

// told are the words so far: there may be more of them at any time.
func (s *shard) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.words)
}

// each checks that a shard was given each of so many events once, in the order of each partition.
func (r *rig) each(name string, s *shard, events int64) {
	r.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]int64{}
	for _, g := range s.given {
		var stream string
		var offset int64
		if _, err := fmt.Sscanf(g, "s/%1s#x@%d", &stream, &offset); err != nil {
			r.t.Fatal(err)
		}
		if offset != seen[stream]+1 {
			r.t.Errorf("%s was given %s after offset %d", name, g, seen[stream])
			return
		}
		seen[stream] = offset
	}
	if int64(len(s.given)) != events {
		r.t.Errorf("%s was given %d events, want %d", name, len(s.given), events)
	}
}

// at is a position in a partition.
func at(partition, offset int64) boundary.Position {
	return boundary.Position{Stream: fmt.Sprintf("s/%d#x", partition), Offset: offset}
}

// until are the events before two offsets.
func (r *rig) until(even, odd int64) (all []string) {
	for n := range r.events.Load() {
		pos := event(n).Pos
		if pos.Stream == "s/0#x" && pos.Offset <= even || pos.Stream == "s/1#x" && pos.Offset <= odd {
			all = append(all, pos.String())
		}
	}
	return all
}
