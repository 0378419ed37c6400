package letters

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/spec/trait"
)

// preview says what would become of letters if they were replayed now, and replays none of them.
func (d *Desk) preview(ctx context.Context, few []checkpoint.DeadLetter) ([]fate, error) {
	var fates []fate
	for i := range few {
		if l := &few[i]; l.Stage == "" {
			fates = append(fates, refusal(notFound(l.ID)))
		} else if l.Stage == "sink" {
			fates = append(fates, allowed(d.Graph.TryOutput(ctx, l)))
		} else if raw, err := events(d.Graph.Graph, l); err != nil {
			fates = append(fates, refusal(err))
		} else if code, text, err := d.try(ctx, l, raw); err != nil {
			fates = append(fates, refusal(err))
		} else if code != "" {
			fates = append(fates, fate{is: failedAgain, code: code, detail: text})
		} else {
			fates = append(fates, fate{is: passed})
		}
	}
	return fates, nil
}

func allowed(err error) fate {
	if err != nil {
		return refusal(err)
	}
	return fate{is: passed}
}

// try says what would become of a letter's events if they were pushed now: code is "" when they would pass.
func (d *Desk) try(ctx context.Context, l *checkpoint.DeadLetter, raw []json.RawMessage) (
	code, text string, err error) {
	for _, p := range d.Graph.Unit().Programs {
		if p.Name() == l.Accumulator {
			bs, code, text := foldAside(p, d.MaxEventBytes, l, raw)
			if code != "" {
				return code, text, nil
			}
			return d.Graph.Try(ctx, l.Accumulator, bs)
		}
	}
	return "", "", nil // events has found it
}

// foldAside has an accumulator that nobody else knows fold events, and hands over what it makes of them; code and
// text say what it refuses. What it calls may panic, as it may have when the letter was written.
func foldAside(p *accumulator.Program, maxBytes int, l *checkpoint.DeadLetter, raw []json.RawMessage) (
	bs []boundary.Boundary, code, text string) {
	defer func() {
		if v := recover(); v != nil {
			bs, code, text = nil, "panic", fmt.Sprintf("fold: panic: %v", v)
		}
	}()
	now := time.Now()
	acc := accumulator.NewCore(p, accumulator.Limits{MaxEventBytes: maxBytes})
	acc.Ephemeral()
	for _, bytes := range raw {
		out := acc.Add(now, &boundary.Event{Raw: bytes, At: l.At}, false)
		if out.Status == accumulator.Rejected || out.Status == accumulator.DeadLettered {
			return nil, out.Code, out.Stage + ": " + out.Detail
		}
	}
	acc.EndOfInput(now)
	var h accumulator.Handoff
	acc.Drain(&h)
	if len(h.DeadLetters) > 0 {
		return nil, h.DeadLetters[0].Code, h.DeadLetters[0].Stage + ": " + h.DeadLetters[0].Reason
	}
	return h.Boundaries, "", ""
}

// events are what a letter holds to be pushed again: its bytes, or the elements of a folded batch.
func events(m *graphrun.Graph, l *checkpoint.DeadLetter) ([]json.RawMessage, error) {
	hands, known := m.Hands(l.Accumulator)
	switch {
	case l.Accumulator == "" && l.Stage == "node":
		return nil, told.NotReplayable("the letter is of a node with on_error: dead_letter, whose epoch went on " +
			"without it and has consumed the events: it holds what the epoch saw, for you to read, and no event to " +
			"push")
	case l.Accumulator == "":
		return nil, told.NotReplayable(fmt.Sprintf(
			"the letter's stage is %q: it holds no event that could be pushed again", l.Stage))
	case !known:
		return nil, told.NotReplayable("the graph has no input \"" + l.Accumulator + "\" any more")
	case !l.Folded || hands == trait.OneValue:
		return []json.RawMessage{l.Payload}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(l.Payload, &items); err != nil {
		return nil, fmt.Errorf("read the letter's batch: %w", err)
	}
	if hands == trait.NewestEvents && len(items) > 1 {
		items = items[len(items)-1:] // the history's newest is the event the letter stands for
	}
	return items, nil
}
