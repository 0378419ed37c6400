package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kafkanet/portion"
)

// seen is what became of a look at the topics.
type seen struct {
	at     time.Time
	topics []kafkanet.Topic
	err    error
}

// look asks which partitions there are and who leads them, while reading goes on.
func (r *session) look(ctx context.Context, wg *sync.WaitGroup) {
	r.looking = true
	wg.Go(func() {
		asking, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s := &seen{}
		if s.topics, s.err = r.client.Topics(asking, r.s.cfg.Topics); s.err != nil {
			s.err = fmt.Errorf("ask the brokers for the topics: %w", r.client.Hide(s.err))
		}
		s.at = time.Now()
		select {
		case r.looks <- s:
		case <-ctx.Done():
		}
	})
}

// looked acts on a look. What fails is tried again; the error is one that ends the session.
func (r *session) looked(ctx context.Context, s *seen) error {
	r.looking = false
	err := s.err
	if err == nil {
		err = r.assign(ctx, s.topics)
	}
	if lost := new(accumulator.DataLost); errors.As(err, &lost) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		r.failures++
		r.trouble = err.Error()
		r.lookAt = time.Now().Add(kafkanet.Backoff(r.failures))
		r.with.seen = nil
	} else {
		r.failures, r.trouble = 0, ""
		r.lookAt, r.with.seen = s.at.Add(r.s.every), s
	}
	r.say()
	return nil
}

func (r *session) assign(ctx context.Context, topics []kafkanet.Topic) error {
	var err error
	var fresh []*partition
	uneven := (*portion.UnevenError)(nil)
	for i := range topics {
		t := &topics[i]
		if t.Err != nil {
			err = errors.Join(err, fmt.Errorf("topic %s: %w", t.Name, t.Err))
			continue
		}
		if odd := r.s.part.Even(t.Name, len(t.Partitions), r.known); odd != nil {
			uneven = odd
			continue
		}
		for _, have := range t.Partitions {
			if !r.s.part.Reads(have.ID) {
				continue
			}
			p := r.partition(t.Name, have.ID)
			if p == nil {
				p = &partition{topic: t.Name, id: have.ID, stream: streamOf(t.Name, have.ID), high: -1}
				fresh = append(fresh, p)
			}
			p.leader, p.now = have.Leader, t.ID
		}
	}
	if r.uneven = uneven; uneven != nil {
		return err // it is looked at again soon: partitions may be added
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(err, r.begin(asking, ctx, fresh), r.compare(asking))
}

func (r *session) partition(topic string, id int) *partition {
	for _, p := range r.partitions {
		if p.id == id && p.topic == topic {
			return p
		}
	}
	return nil
}

// begin finds out where to begin partitions that are seen for the first time, and takes
// them in. All of a topic are taken in together: which were there at the beginning decides
// where a later one begins.
func (r *session) begin(asking, ctx context.Context, fresh []*partition) error {
	if len(fresh) == 0 {
		return nil
	}
	ask := map[string][]kafka.OffsetRequest{}
	for _, p := range fresh {
		if at, ok := r.from[p.stream]; ok {
			p.next, p.gen = at.offset, at.gen
			p.doubted = p.gen.witness.known
			continue
		}
		later := r.known[r.s.part.Family(p.topic, p.id)]
		if offset, ok := r.s.cfg.Start.Offsets[p.stream]; ok && r.s.cfg.Start.At == "offsets" && !later {
			p.next = offset
			continue
		}
		p.next = -1
		ask[p.topic] = append(ask[p.topic], r.startOf(p)...)
	}
	if err := r.resolve(asking, ask, fresh); err != nil {
		return err
	}
	for _, p := range fresh {
		p.handed = p.next
		r.known[r.s.part.Family(p.topic, p.id)] = true
		r.partitions = append(r.partitions, p)
		accumulator.CaughtUp(r.out, p.stream, false) // until the leader has said how much there is
		if p.gen == (generation{}) {
			p.gen.id = p.now // where nothing is known, the topic of now is believed to be the one
		}
		// The beginning is part of the next checkpoint: a restart before the first record
		// does not choose anew.
		if err := r.out.Advance(ctx, p.at(p.next)); err != nil {
			return err
		}
	}
	accumulator.CaughtUp(r.out, "", true) // each partition stands for itself
	return nil
}

// startOf is what to ask for to know where a partition begins: one that came later begins
// with its first record, whatever the others did.
func (r *session) startOf(p *partition) []kafka.OffsetRequest {
	start := r.s.cfg.Start
	switch {
	case r.known[r.s.part.Family(p.topic, p.id)]:
	case start.At == "latest":
		return []kafka.OffsetRequest{kafka.LastOffsetOf(p.id)}
	case start.At == "timestamp":
		return []kafka.OffsetRequest{kafka.TimeOffsetOf(p.id, start.Time)}
	}
	return []kafka.OffsetRequest{kafka.FirstOffsetOf(p.id)}
}

// resolve asks the leaders for offsets. A time after the last record is the end.
func (r *session) resolve(ctx context.Context, ask map[string][]kafka.OffsetRequest, fresh []*partition) error {
	if len(ask) == 0 {
		return nil
	}
	got, err := r.offsets(ctx, ask)
	if err != nil {
		return err
	}
	ends := map[string][]kafka.OffsetRequest{}
	for _, p := range fresh {
		if p.next >= 0 {
			continue
		}
		have := got[p.stream]
		p.next = max(have.FirstOffset, have.LastOffset)
		for offset := range have.Offsets {
			p.next = offset
		}
		if p.next < 0 {
			ends[p.topic] = append(ends[p.topic], kafka.LastOffsetOf(p.id))
		}
	}
	if len(ends) == 0 {
		return nil
	}
	if got, err = r.offsets(ctx, ends); err != nil {
		return err
	}
	for _, p := range fresh {
		if p.next < 0 {
			p.next = max(got[p.stream].LastOffset, 0)
		}
	}
	return nil
}

// offsets asks for offsets and answers them by stream.
func (r *session) offsets(ctx context.Context, ask map[string][]kafka.OffsetRequest) (
	map[string]kafka.PartitionOffsets, error) {
	res, err := r.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: ask})
	if err != nil {
		return nil, fmt.Errorf("ask for offsets: %w", r.client.Hide(err))
	}
	out := map[string]kafka.PartitionOffsets{}
	for topic, list := range res.Topics {
		for _, p := range list {
			if p.Error != nil {
				return nil, fmt.Errorf("ask for the offsets of %s: %w", streamOf(topic, p.Partition), p.Error)
			}
			out[streamOf(topic, p.Partition)] = p
		}
	}
	for topic, list := range ask {
		for _, p := range list {
			if _, ok := out[streamOf(topic, p.Partition)]; !ok {
				return nil, fmt.Errorf("ask for the offsets of %s: no answer", streamOf(topic, p.Partition))
			}
		}
	}
	return out, nil
}
