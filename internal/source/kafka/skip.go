package kafka

import (
	"context"
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
)

var _ accumulator.Skipper = (*Source)(nil)

// Skip implements [accumulator.Skipper]. A partition of a topic that was made anew goes on
// with the first record of the new topic, one whose records retention has removed with the
// first that is left. Only a log that a broker has cut short, in a topic that is the same,
// goes on at its end: what is before has been read.
func (s *Source) Skip(
	ctx context.Context, from []boundary.Position,
) (to []boundary.Position, gaps []accumulator.Gap, err error) {
	places, err := parsePlaces(from)
	if err != nil {
		return nil, nil, err
	}
	client, err := kafkanet.New(s.cfg.Config, s.cfg.Topics)
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := newSession(s, newKept(client), nil, places)
	got, err := r.ends(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, pos := range from {
		at, _ := parsePlace(pos)
		if !slices.Contains(s.cfg.Topics, at.topic) {
			to = append(to, pos) // nobody reads it now
			continue
		}
		have, there := got[at.stream()]
		if !there {
			gaps = append(gaps, accumulator.Gap{From: pos, Reason: "partition_gone"})
			continue
		}
		next, gap, err := r.skip(ctx, at, &have)
		if err != nil {
			return nil, nil, err
		}
		to = append(to, next)
		if gap != nil {
			gap.From, gap.To = pos, next
			gaps = append(gaps, *gap)
		}
	}
	return to, gaps, nil
}

// skip is where one partition goes on, and the gap before; nil when it lacks nothing.
func (r *session) skip(ctx context.Context, at place, have *ends) (boundary.Position, *accumulator.Gap, error) {
	id := have.topic
	next, same := at, at.gen.id.IsZero() || id.IsZero() || at.gen.id == id
	sure := !at.gen.id.IsZero() && at.gen.id == id
	inside := at.offset >= have.first && at.offset <= have.last
	if same && inside && at.gen.id.IsZero() && at.gen.witness.known {
		var err error
		p := &partition{topic: at.topic, id: at.id, stream: at.stream(), gen: at.gen, leader: have.leader}
		if same, err = r.same(ctx, p); err != nil {
			return boundary.Position{}, nil, err
		}
	}
	switch {
	case same && inside:
		return at.position(), nil, nil
	case same && at.offset < have.first:
		next.offset = have.first
		return next.position(), &accumulator.Gap{Events: have.first - at.offset, Known: true, Reason: "removed"}, nil
	case same && sure:
		next.offset = have.last
		return next.position(), &accumulator.Gap{Reason: "cut_short"}, nil
	}
	next.offset, next.gen = have.first, generation{id: id}
	return next.position(), &accumulator.Gap{Reason: "made_anew"}, nil
}
