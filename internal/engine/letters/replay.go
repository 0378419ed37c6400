package letters

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// fate is what became of a letter that was replayed.
type fate struct {
	is           string
	code, detail string
	pushed       api.PushResult // of a letter that holds events
}

// The fates of letters.
const (
	passed      = "passed"
	failedAgain = "failed_again"
	waiting     = "waiting"
	skipped     = "skipped"
)

const (
	// settling is how long a replay waits at most for what becomes of it once it is durable: the sinks' answers.
	settling = 2 * time.Second
	// replayShare is the part of a request's time, one in so many, that is kept for making a replay durable.
	replayShare = 2
)

// refusal is an error as the fate of one letter.
func refusal(err error) fate {
	var refused *api.Error
	if errors.As(err, &refused) {
		return fate{is: skipped, code: refused.Code, detail: refused.Detail}
	}
	return fate{is: skipped, code: api.CodeInternal, detail: err.Error()}
}

// settled is the answer of a sink.
type settled struct{ code, reason string }

// replaying is letters that are being replayed together.
type replaying struct {
	d      *Desk
	fates  []fate
	pushed []checkpoint.DeadLetter // letters whose events were taken
	newest []string                // the id of the newest letter before, by shard
	sinks  map[int]chan settled    // by index of the letter: capacity 1
}

// replay replays letters, in their order. What was taken is durable when it answers, and then the letters are gone:
// a crash before leaves them. It stops early when by is over, with a fate for each letter that it came to.
func (d *Desk) replay(ctx context.Context, few []checkpoint.DeadLetter) (_ []fate, err error) {
	r := &replaying{d: d, sinks: map[int]chan settled{}}
	if r.newest, err = d.pile().newest(ctx); err != nil {
		return nil, err
	}
	sending, cancel := ctx, context.CancelFunc(func() {})
	if by, bounded := ctx.Deadline(); bounded {
		sending, cancel = context.WithDeadline(ctx, by.Add(-time.Until(by)/replayShare))
	}
	defer cancel()
	for i := range few {
		if i > 0 && sending.Err() != nil {
			break
		}
		r.fates = append(r.fates, r.one(sending, i, &few[i]))
	}
	if len(r.pushed)+len(r.sinks) == 0 {
		return r.fates, nil
	}
	if err := d.Graph.Cover(ctx, r.pushed); err != nil {
		return r.fates, err
	}
	// What was refused again is in the store when it is told. And where nothing is durable, letters stay until
	// their values are through.
	if r.hear(ctx) || d.Graph.Forgetful() && len(r.sinks) > 0 {
		if err := d.Graph.Cover(ctx, nil); err != nil {
			return r.fates, err
		}
	}
	return r.fates, r.failed(ctx, few)
}

// one replays a letter, as far as that goes without waiting for what becomes of it.
func (r *replaying) one(ctx context.Context, i int, l *checkpoint.DeadLetter) fate {
	if l.Stage == "" {
		return refusal(notFound(l.ID))
	}
	if l.Stage == "sink" {
		answer := make(chan settled, 1)
		err := r.d.Graph.Resend(ctx, l, func(code, reason string) {
			select {
			case answer <- settled{code, reason}:
			default: // it was told before
			}
		})
		if err != nil {
			return refusal(err)
		}
		r.sinks[i] = answer
		return fate{is: waiting, code: "output_pending", detail: "it waits for output " + l.Output + " to deliver it"}
	}
	pushed, err := events(r.d.Graph.Graph, l)
	if err != nil {
		return refusal(err)
	}
	res, err := r.d.Graph.PushAgain(ctx, l, pushed)
	f := fate{is: passed, pushed: res}
	switch {
	case err != nil:
		f = refusal(err)
	case res.Full:
		f = fate{is: skipped, code: api.CodeQueueFull, pushed: res, detail: "input " + l.Accumulator + " stayed full"}
		if res.Why != nil {
			f.detail += ": " + res.Why.Detail
		}
	case len(res.Rejected) > 0:
		f = fate{is: failedAgain, code: res.Rejected[0].Code, detail: res.Rejected[0].Detail, pushed: res}
	default:
		r.pushed = append(r.pushed, *l)
	}
	return f
}

// hear waits for the answers of sinks, but not for long, and reports whether one has refused its value again.
func (r *replaying) hear(ctx context.Context) (refused bool) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for i := range r.fates {
		answer := r.sinks[i]
		if answer == nil {
			continue
		}
		var said settled
		select {
		case said = <-answer:
		case <-ctx.Done():
			select {
			case said = <-answer:
			default:
				continue
			}
		}
		if r.fates[i] = (fate{is: passed}); said.code != "" {
			r.fates[i] = fate{is: failedAgain, code: said.code, detail: said.reason}
			refused = true
		}
	}
	return refused
}

// failed finds the letters that have come of those that were replayed.
func (r *replaying) failed(ctx context.Context, few []checkpoint.DeadLetter) error {
	of := map[string]int{}
	for i := range r.fates {
		if r.fates[i].is == passed && r.sinks[i] == nil {
			of[few[i].ID] = i
		}
	}
	if len(of) == 0 {
		return nil
	}
	return r.d.pile().since(ctx, r.newest, func(l *checkpoint.DeadLetter) {
		if i, ours := of[l.ReplayOf]; ours {
			r.fates[i] = fate{is: failedAgain, code: l.Code, detail: l.Reason, pushed: r.fates[i].pushed}
		}
	})
}

// ReplayOne replays one letter (M5): its events are pushed as new ones that are linked to it, and a value
// that its sink has refused is sent again under its id. The letter goes when that is durable.
func (d *Desk) ReplayOne(ctx context.Context, id string) (api.PushResult, error) {
	ctx, release, err := d.Graph.Replaying(ctx)
	if err != nil {
		return api.PushResult{}, err
	}
	defer release()
	l, err := d.letter(ctx, id) // as it is now: another replay may have been waited for
	if err != nil {
		return api.PushResult{}, err
	}
	fates, err := d.replay(ctx, []checkpoint.DeadLetter{l})
	if err != nil {
		return api.PushResult{}, err
	}
	f := fates[0]
	if l.Stage != "sink" && (f.is != skipped || f.pushed.Full) {
		f.pushed.Durable = f.pushed.Durable || f.is == passed && d.durable()
		return f.pushed, nil
	}
	switch f.is {
	case skipped:
		return api.PushResult{}, &api.Error{Status: http.StatusConflict, Code: f.code, Detail: f.detail}
	case failedAgain:
		return api.PushResult{Rejected: []api.Rejection{{Code: f.code, Detail: f.detail}}}, nil
	}
	return api.PushResult{Accepted: 1, Durable: d.durable(), Rejected: []api.Rejection{}}, nil
}

// durable reports whether what is replayed outlives the daemon.
func (d *Desk) durable() bool { return d.Store.Kind() != "memory" && !d.Graph.Forgetful() }

// Replay replays the letters of a request, or says what would become of them.
func (d *Desk) Replay(ctx context.Context, req api.LettersRequest) (api.LettersResult, error) {
	res := api.LettersResult{Preview: req.Preview, Reasons: []api.LetterReason{}}
	c, err := d.meant(ctx, &req)
	if err != nil {
		return res, err
	}
	act := d.replay
	if req.Preview {
		act = d.preview
	} else {
		held, release, err := d.Graph.Replaying(ctx)
		if err != nil {
			return res, err
		}
		defer release()
		ctx = held
	}
	enough := time.Time{}
	if by, bounded := ctx.Deadline(); bounded {
		enough = by.Add(-time.Until(by) / replayShare)
	}
	var failure error
	tried := map[string]bool{}
	res.Next, err = d.each(ctx, &req, c, func(few []checkpoint.DeadLetter) int {
		if res.Letters > 0 && !enough.IsZero() && time.Now().After(enough) {
			return 0
		}
		fates, err := act(ctx, few)
		if failure = err; err != nil {
			return 0
		}
		for i := range fates {
			tell(&res, few[i].ID, &fates[i])
			tried[few[i].Accumulator] = true
		}
		return len(fates)
	})
	res.Undecided = c.undecided
	switch err = cmp.Or(failure, err); {
	case err != nil:
	case res.Letters == 0 && req.After == "":
		res.Note, err = d.missed(ctx, c)
	case req.Preview:
		res.Note = unseen(d.Graph.Graph, tried)
	}
	return res, err
}

// tell counts what became of a letter.
func tell(res *api.LettersResult, id string, f *fate) {
	res.Letters++
	switch f.is {
	case passed:
		res.Passed++
		return
	case failedAgain:
		res.FailedAgain++
	case waiting:
		res.Waiting++
	default:
		res.Skipped++
	}
	res.Because(&api.LetterReason{Fate: f.is, Code: f.code, Letters: 1, First: id, Detail: f.detail})
}
