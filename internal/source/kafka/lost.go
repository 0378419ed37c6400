package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet/room"
)

// beyondPatience is how long a broker may have less than was read, or another topic: a new
// leader learns a little late how far the old one had committed, and a broker that was away
// may know an older topic.
const beyondPatience = 3 * time.Second

// unknownTopicID is the code for an id that the broker does not know, or not any more.
const unknownTopicID kafka.Error = 100

// refused acts on a partition's error. An offset out of range is looked into: what was
// deleted is lost at once, what is not there yet after a while (M44).
func (r *session) refused(ctx context.Context, p *partition, cause kafka.Error) error {
	if cause == unknownTopicID {
		p.fail(errors.New("the leader knows no topic with the id " + p.gen.id.String()))
		return nil
	}
	if cause != kafka.OffsetOutOfRange {
		p.fail(cause)
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	got, err := r.offsets(asking, bothEnds(p))
	if err != nil {
		p.fail(err)
		return ctx.Err()
	}
	have := got[p.stream]
	if p.beyond.IsZero() {
		p.beyond = time.Now()
	}
	switch {
	case p.next >= have.FirstOffset && p.next <= have.LastOffset,
		p.next > have.LastOffset && time.Since(p.beyond) < r.s.behind:
		p.fail(cause)
		return nil
	}
	return &accumulator.DataLost{Want: p.at(p.next).String(), Have: span(p.stream, have)}
}

// bothEnds is what to ask for to know which offsets a partition has.
func bothEnds(p *partition) map[string][]kafka.OffsetRequest {
	return map[string][]kafka.OffsetRequest{p.topic: {kafka.FirstOffsetOf(p.id), kafka.LastOffsetOf(p.id)}}
}

// span tells people which offsets a partition has.
func span(stream string, have kafka.PartitionOffsets) string {
	return fmt.Sprintf("offsets %d to %d of %s", have.FirstOffset, have.LastOffset, stream)
}

// compare sees whether topics are still those that the positions are of. The error is a
// [accumulator.DataLost] where one was made anew.
func (r *session) compare(ctx context.Context) error {
	var lost []*partition
	for _, p := range r.partitions {
		switch {
		case p.gen.id.IsZero() || p.now.IsZero() || p.gen.id == p.now:
			p.anew = time.Time{}
		case p.anew.IsZero():
			p.anew = time.Now()
			p.trouble = fmt.Sprintf("%s: the topic has the id %s and the position one in %s; it is looked at for %v",
				p.stream, p.now, p.gen.id, r.s.behind)
		case time.Since(p.anew) >= r.s.behind:
			lost = append(lost, p)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return r.madeAnew(ctx, lost)
}

// madeAnew is the error that says of partitions that their topics were made anew.
func (r *session) madeAnew(ctx context.Context, lost []*partition) error {
	slices.SortFunc(lost, func(a, b *partition) int { return strings.Compare(a.stream, b.stream) })
	ask := map[string][]kafka.OffsetRequest{}
	var want []string
	for _, p := range lost {
		ask[p.topic] = append(ask[p.topic], bothEnds(p)[p.topic]...)
		want = append(want, p.at(p.next).String())
	}
	got, err := r.offsets(ctx, ask)
	if err != nil {
		return err
	}
	var have, said []string
	for _, p := range lost {
		if !slices.Contains(said, p.topic) {
			said = append(said, p.topic)
			have = append(have, recreated(p))
		}
		have = append(have, span(p.stream, got[p.stream]))
	}
	return &accumulator.DataLost{Want: strings.Join(want, ","), Have: strings.Join(have, ", ")}
}

// recreated tells people that a partition's topic is not the one of its position.
func recreated(p *partition) string {
	text := "the topic " + p.topic + " was deleted and made anew"
	if !p.gen.id.IsZero() && !p.now.IsZero() {
		text += fmt.Sprintf(" (its id was %s and is %s)", p.gen.id, p.now)
	}
	return text
}

// believe sees by its witness whether a partition is of the topic that was read. It stays
// doubted when that cannot be seen now. The error is one that ends the session.
func (r *session) believe(ctx context.Context, p *partition) error {
	asking, cancel := context.WithTimeout(ctx, maxWait+patience)
	defer cancel()
	same, err := r.same(asking, p)
	if err != nil {
		p.fail(err)
		return ctx.Err()
	}
	if !same {
		err := r.madeAnew(asking, []*partition{p})
		if lost := new(accumulator.DataLost); !errors.As(err, &lost) && ctx.Err() == nil {
			p.fail(err)
			return nil
		}
		return err
	}
	p.doubted = false
	if p.gen.id.IsZero() {
		p.gen.id = p.now
	}
	return nil
}

// same says whether the witness is where it was. One that is gone, by retention or
// compaction, says nothing, and is not held against the topic.
func (r *session) same(ctx context.Context, p *partition) (bool, error) {
	w := p.gen.witness
	req := r.request(p.leader, nil)
	req.ids, req.MinBytes, req.MaxWaitTime = nil, 0, 0
	req.Topics = []fetch.RequestTopic{{Topic: p.topic, Partitions: []fetch.RequestPartition{p.from(w.offset)}}}
	a, err := r.ask(ctx, req)
	if err != nil {
		return false, err
	}
	c := a.of(p)
	switch {
	case c == nil || a.code != 0:
		return false, errors.New("the leader did not answer for it")
	case kafka.Error(c.code) == kafka.OffsetOutOfRange:
		return true, nil // what the position itself is worth is seen when it is read
	case c.code != 0:
		return false, kafka.Error(c.code)
	}
	batches, err := cut(c.records, r.s.cfg.MaxBatchBytes)
	if err != nil {
		return false, err
	}
	for i := range batches {
		if b := &batches[i]; b.last >= w.offset {
			return w.in(ctx, &r.s.cfg, b)
		}
	}
	return true, nil
}

// in says whether a batch has the record, or none at its offset.
func (w witness) in(ctx context.Context, cfg *Config, b *batch) (bool, error) {
	switch {
	case b.base > w.offset || b.body == nil:
		return true, nil // it is gone, or too large to be looked at
	case b.control():
		return false, nil // it was none
	}
	e := &events{cfg: cfg, out: nowhere{}, room: &room.Room{}, from: w.offset, one: true}
	if err := e.batch(ctx, b); err != nil {
		return false, err
	}
	return e.last.offset != w.offset || e.last == w, nil
}

// nowhere is an [accumulator.Out] for records that are only looked at.
type nowhere struct{}

func (nowhere) Emit(context.Context, []boundary.Event) error                        { return nil }
func (nowhere) Refuse(context.Context, boundary.Event, *accumulator.BadEvent) error { return nil }
func (nowhere) Advance(context.Context, boundary.Position) error                    { return nil }
func (nowhere) Health(accumulator.Health, string)                                   {}
