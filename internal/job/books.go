package job

import (
	"cmp"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/shard"
	"github.com/graphd/graphd/internal/spec/words"
)

// deal has the events dealt to n shards: what r.g has left to do is to say when they happen, and to fold what all
// keys share.
func (r *runner) deal(n int, start time.Time) {
	r.front = shard.New(r.ctx, shard.Config{
		Unit: r.cfg.Unit, Shards: n, Start: start, Batch: cmp.Or(r.cfg.Batch, shard.Batch), Release: r.release,
		Calls:  r.g.Calls,
		Letter: func(l *checkpoint.DeadLetter) error { return r.tellLetter(l) },
	})
	r.g.Tap = r.front
}

// dealOut deals the event of input i to its shard.
func (r *runner) dealOut(i int, h *head) error {
	if h.bad == nil && h.taken != nil {
		return r.front.Take(i, h.ev, h.taken, r.g.Now())
	}
	return r.front.Add(i, h.ev, h.bad, r.g.Now())
}

// count closes the books of the run.
func (r *runner) count() {
	r.stats.MadeUpTime = words.WithoutTime(r.cfg.Unit.Spec)
	if r.front != nil {
		all := r.front.Totals()
		r.stats.Epochs = r.front.Epochs()
		for i := range all {
			r.countEpochs(&all[i].View)
		}
		for i := range r.cfg.Inputs {
			books, late := shard.Books(all, i, r.cfg.Unit.Shared(i))
			r.countInput(i, &books, &late)
			r.tellLeft(i, books.Queued, shard.Open(all, i), nil)
		}
		return
	}
	v := r.g.Core().Look()
	r.stats.Epochs = v.Epoch
	r.countEpochs(&v)
	for o, to := range r.cfg.Sinks {
		if to == nil { // it was given no messages, which are counted as they come
			r.stats.Outputs += v.Emitted[o]
		}
	}
	for i := range v.Inputs {
		var late accumulator.Lateness
		if l, ok := r.g.LateDrops(i); ok {
			late = l
		}
		r.countInput(i, &v.Inputs[i].Books, &late)
		r.tellLeft(i, v.Inputs[i].Books.Queued, shard.LeftOf(r.g, i), v.WaitingFor)
	}
}

func (r *runner) countEpochs(v *reactor.View) {
	for _, n := range v.Stats().Epochs {
		r.stats.Failed += n[0]
	}
}

// countInput tells the books of one input, and how many of them were dropped there as late, if any.
func (r *runner) countInput(i int, b *reactor.Books, late *accumulator.Lateness) {
	name := r.cfg.Unit.Spec.Accumulators[i].Name
	in := Input{
		Name: name, Received: b.Received, Filtered: b.Filtered, Conflated: b.Conflated, Rejected: b.Rejected,
		DeadLettered: b.DeadLettered, Consumed: b.Consumed, Queued: b.Queued,
	}
	r.stats.DeadLetters += b.DeadLettered
	if late.Events > 0 {
		in.Late = late.Events
		r.stats.LateDropped += late.Events
		r.stats.Late += tellLate(name, late) + "\n"
	}
	r.stats.Inputs = append(r.stats.Inputs, in)
}
