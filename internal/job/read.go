package job

import (
	"errors"
	"io"
	"runtime"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/job/ahead"
)

// readAhead begins to read the inputs ahead, where there is a core for it: what is made of an event ahead is what
// would be made of it here. The plain mode does without, and so does what a node feeds beside its file.
func (r *runner) readAhead() {
	r.ahead = make([]*ahead.Input, len(r.cfg.Inputs))
	decoders := r.cfg.Decoders
	if cores := runtime.GOMAXPROCS(0); decoders == 0 && cores > 1 {
		decoders = min(cores, mostDecoders)
	}
	if decoders <= 0 || r.cfg.Unit.Reactor().FullRecompute {
		return
	}
	for i, src := range r.cfg.Inputs {
		if src == nil || r.cfg.Unit.Spec.Accumulators[i].Fed() {
			continue
		}
		shards := 1
		if r.front != nil && r.front.Deals(i) {
			shards = r.front.Shards()
		}
		takers := make([]*accumulator.Taker, decoders)
		for k := range takers {
			takers[k] = accumulator.NewTaker(r.cfg.Unit.Programs[i], accumulator.Limits{}, shards)
		}
		r.ahead[i] = ahead.Read(r.ctx, src, takers)
	}
}

// mostDecoders is how many decoders there are for one input at most: its reader keeps no more of them busy.
const mostDecoders = 8

// stopAhead ends what is read ahead.
func (r *runner) stopAhead() {
	for _, in := range r.ahead {
		if in != nil {
			in.Stop()
		}
	}
}

// read fetches input i's next event.
func (r *runner) read(i int) error {
	h := &r.heads[i]
	if in := r.ahead[i]; in != nil {
		if e, err := in.Next(); err == nil {
			h.valid, h.ev, h.bad, h.taken = true, &e.Event, e.Bad, &e.Taken
			return nil
		}
	}
	h.valid, h.bad, h.taken = false, nil, nil
	if r.cfg.Inputs[i] == nil {
		return nil
	}
	err := r.fetch(i, h)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return &unreadError{r.cfg.Unit.Spec.Accumulators[i].Name, err}
	}
	h.valid = true
	return nil
}

// fetch has input i's next event in h.
func (r *runner) fetch(i int, h *head) error {
	if in := r.ahead[i]; in != nil {
		e, err := in.Next()
		if err != nil {
			return err
		}
		h.ev, h.bad, h.taken = &e.Event, e.Bad, &e.Taken
		return nil
	}
	h.ev = &h.own
	if err := r.cfg.Inputs[i].Next(h.ev); err != nil && !errors.As(err, &h.bad) {
		return err
	}
	// Nothing is resumed after a bounded run: where an event came from is for people.
	h.ev.Pos = boundary.Position{Offset: r.line(i)}
	return nil
}
