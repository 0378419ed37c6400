package reader

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
)

// Config is what a Reader is made of.
type Config struct {
	pump.LoaderConfig
	// Open makes the source; nil of an input that has none.
	Open func() (accumulator.Source, error)
}

// Reader reads a source for several shards.
type Reader struct {
	cfg   Config
	asked chan struct{} // capacity 1: a look is asked for

	mu      sync.Mutex
	members []*member // who takes part
	come    []*member // those of them whom the run of the source does not know
	stop    func()    // ends the goroutine; nil before the first
	run     *running  // the run of the source; nil while none does
	done    chan struct{}
	runs    *session           // that run, where it admits who comes
	left    map[int]time.Time  // when shards have left that run
	source  accumulator.Source // that runs; nil while none does
	held    chan struct{}      // closed when what is held goes on; nil while nothing is
}

// New makes a Reader. It does nothing before somebody takes part.
func New(cfg Config) *Reader {
	return &Reader{cfg: cfg, asked: make(chan struct{}, 1)}
}

// Hold keeps back what nobody who takes part has been given, until release is called: those who are behind the others
// come up to them, and then all stand at one place. Who reads by itself is not held.
func (r *Reader) Hold() (release func()) {
	held := make(chan struct{})
	r.mu.Lock()
	r.held = held
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.held = nil
		r.mu.Unlock()
		close(held)
	}
}

// Source is the source as a shard has it, by its number, for one incarnation of its accumulator; nil where there is
// none. It is run by a [pump.Line] or a [pump.Unit].
func (r *Reader) Source(shard int) (accumulator.Source, error) {
	own, err := r.cfg.Open()
	if err != nil || own == nil {
		return nil, err
	}
	if p, ok := own.(accumulator.Partitioned); ok && r.partitioned() {
		p.Portion(r.cfg.Share.Of, func(n int) bool { return n == shard })
	}
	return &member{r: r, shard: shard, own: own, ended: make(chan error, 1)}, nil
}

// partitioned says that each shard reads only its own partitions.
func (r *Reader) partitioned() bool { return r.cfg.Share != nil && r.cfg.Share.Partitioned }

// member is a shard that takes part. It is an [accumulator.Source].
type member struct {
	r     *Reader
	shard int
	own   accumulator.Source // reads for this shard, where it cannot take part
	ended chan error         // capacity 1: why it takes part no more, nil at the end of the source
	ctx   context.Context
	out   pump.Loads

	giving sync.Mutex      // held while the reader has to do with out
	gone   atomic.Bool     // it does no more
	at     places          // behind what was given
	ahead  places          // in this session: nothing is given up to there
	behind map[string]bool // by stream, what was said of it; "" is the source as a whole
	late   bool            // Reader.mu guards it: it has come, and what it was not given is not kept any more

	durable func() []boundary.Position // what is in its checkpoint; Reader.mu guards it; nil until something is
}

// reads reports whether the member is given what a stream has.
func (m *member) reads(stream string) bool {
	home := m.r.cfg.Share.Home(stream)
	return home < 0 || home == m.shard
}

// of are the positions that mean something to the member: keys that were dealt anew may have brought others.
func (m *member) of(positions []boundary.Position) []boundary.Position {
	return slices.DeleteFunc(slices.Clone(positions), func(p boundary.Position) bool { return !m.reads(p.Stream) })
}

func (m *member) caughtUp(stream string, caughtUp bool) {
	m.behind[stream] = !caughtUp
	accumulator.CaughtUp(m.out, stream, caughtUp)
}

// forget makes void what an earlier session has said of how far it has come: the source as a whole is behind, and of
// its streams nothing is known.
func (m *member) forget() {
	if len(m.behind) == 0 {
		return
	}
	m.caughtUp("", false)
	for stream, behind := range m.behind {
		if behind && stream != "" {
			m.caughtUp(stream, true)
		}
	}
}

// errAlone says that a member is to read for itself.
var errAlone = errors.New("the order of positions is not known")

// Run implements [accumulator.Source].
func (m *member) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	loads, ok := out.(pump.Loads)
	if !ok {
		return m.own.Run(ctx, from, out)
	}
	m.ctx, m.out, m.at, m.behind = ctx, loads, placesOf(m.of(from)), map[string]bool{}
	runs := m.r.enter(m)
	defer m.r.join()
	if runs != nil {
		m.come(runs)
	}
	asked := accumulator.AskerOf(out).Asked()
	for {
		select {
		case <-ctx.Done():
			m.r.leave(m)
			return nil
		case <-asked:
			poke(m.r.asked)
		case err := <-m.ended:
			if errors.Is(err, errAlone) {
				m.forget()
				return m.own.Run(ctx, m.at.positions(), out)
			}
			return err
		}
	}
}

// come has the run of the source admit the member. One that panics with what it is given takes part no more.
func (m *member) come(runs *session) {
	admitted := false
	defer func() {
		if !admitted {
			m.r.leave(m)
		}
	}()
	runs.admit(m)
	admitted = true
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enter has a member take part: the source begins again, unless what runs can admit it.
func (r *Reader) enter(m *member) (runs *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members = append(r.members, m)
	r.come = append(r.come, m)
	if len(r.members) > 1 {
		m.late = time.Since(r.left[m.shard]) < restarts // whatever is kept
		r.beginAgain()
		return r.runs
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(m.ctx))
	before, done := r.done, make(chan struct{})
	r.stop, r.done = stop, done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		r.read(ctx)
	}()
	return nil
}

// leave takes a member out whose time is over.
func (r *Reader) leave(m *member) {
	r.remove(m)
	r.mu.Lock()
	if r.left != nil {
		r.left[m.shard] = time.Now()
	}
	r.mu.Unlock()
	m.giving.Lock()
	m.gone.Store(true)
	m.giving.Unlock()
}

// remove takes a member out. When nobody takes part the goroutine ends.
func (r *Reader) remove(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.come, m); i >= 0 {
		r.come = slices.Delete(r.come, i, i+1)
	}
	if i := slices.Index(r.members, m); i >= 0 {
		r.members = slices.Delete(r.members, i, i+1)
		switch {
		case len(r.members) == 0:
			r.stop()
		case r.partitioned():
			r.beginAgain() // without the partitions of the one that leaves
		}
	}
}

// dismiss takes a member out, whose giving is held, and says why.
func (r *Reader) dismiss(m *member, why error) {
	m.gone.Store(true)
	r.remove(m)
	m.ended <- why
}

// join waits for the goroutine, if it is to end.
func (r *Reader) join() {
	r.mu.Lock()
	done, more := r.done, len(r.members)
	r.mu.Unlock()
	if more == 0 {
		<-done
	}
}

// gathering is how long the source waits before it begins: others may be about to come too, and for each the source
// would begin again.
const gathering = 10 * time.Millisecond

// read runs the source, again and again, until nobody takes part.
func (r *Reader) read(ctx context.Context) {
	loader := pump.NewLoader(r.cfg.LoaderConfig)
	var source accumulator.Source // that lasts
	defer func() {
		if lasts, ok := source.(accumulator.Lasting); ok {
			lasts.Close()
		}
	}()
	timer := time.NewTimer(gathering)
	defer timer.Stop()
	for {
		timer.Reset(gathering)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		source = r.session(ctx, loader, source)
	}
}

// Follows implements [accumulator.Follower].
func (m *member) Follows() bool { return follows(m.own) }

func follows(s accumulator.Source) bool {
	f, ok := s.(accumulator.Follower)
	return ok && f.Follows()
}

// Looks implements [accumulator.Looker].
func (m *member) Looks() bool {
	s, ok := m.own.(accumulator.Looker)
	return ok && s.Looks()
}

// Lag implements [accumulator.LagTeller].
func (m *member) Lag() (events int64, known bool) {
	r := m.r
	r.mu.Lock()
	source := r.source
	if !slices.Contains(r.members, m) {
		source = m.own
	}
	r.mu.Unlock()
	if s, ok := source.(accumulator.LagTeller); ok {
		return s.Lag()
	}
	return 0, false
}

// Mirrors implements [accumulator.Mirror].
func (m *member) Mirrors() bool {
	s, ok := m.own.(accumulator.Mirror)
	return ok && s.Mirrors()
}

// Durable implements [accumulator.Mirror]: the source is told what all who take part have durable, when it asks.
func (m *member) Durable(at func() []boundary.Position) {
	r := m.r
	r.mu.Lock()
	m.durable = at
	source, all := r.source, r.durable
	if !slices.Contains(r.members, m) {
		source, all = m.own, func() []boundary.Position { return m.of(at()) }
	}
	r.mu.Unlock()
	if s, ok := source.(accumulator.Mirror); ok {
		s.Durable(all)
	}
}

// durable are the positions that all who take part have in checkpoints; none where that is not known.
func (r *Reader) durable() []boundary.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all places
	for _, m := range r.members {
		if m.durable == nil {
			if r.partitioned() {
				continue
			}
			return nil
		}
		own := placesOf(m.of(m.durable()))
		order, _ := m.own.(Ordered) // what runs is asked by the reader
		switch {
		case all == nil:
			all = own
		case r.partitioned():
			maps.Copy(all, own) // each stands in its own partitions
		case !all.lower(order, own):
			return nil
		}
	}
	return all.positions()
}
