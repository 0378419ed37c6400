package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
)

var _ accumulator.Seeker = (*Source)(nil)

// Seek implements [accumulator.Seeker]. A position is "end", or an offset for each of the
// partitions as an accumulator shows it: topic/0@42,topic/1@7.
func (s *Source) Seek(ctx context.Context, position string) ([]boundary.Position, error) {
	client, err := kafkanet.New(s.cfg.Config, s.cfg.Topics)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	want, err := parsePositions(position)
	if err != nil {
		return nil, err
	}
	r := newSession(s, newKept(client), nil, nil)
	got, err := r.ends(ctx)
	if err != nil {
		return nil, err
	}
	var out []boundary.Position
	var missing []string
	for stream, have := range got {
		at, named := want[stream]
		topic, id, _ := parseStream(stream)
		offset, now := at.offset, place{topic: topic, id: id, gen: generation{id: have.topic}}
		switch {
		case position == "end":
			offset = have.last
		case !named:
			missing = append(missing, stream)
			continue
		case !at.gen.id.IsZero() && !now.gen.id.IsZero() && at.gen.id != now.gen.id:
			return nil, fmt.Errorf("the topic %s was made anew: it has the id %s now, and the position is in %s",
				topic, now.gen.id, at.gen.id)
		case offset < have.first || offset > have.last:
			return nil, fmt.Errorf("%s has the offsets %d to %d; there is nothing at %d", stream, have.first, have.last,
				offset)
		}
		delete(want, stream)
		now.offset = offset
		out = append(out, now.position())
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the position says nothing of %s; name every partition", strings.Join(missing, ", "))
	}
	for stream := range want {
		return nil, fmt.Errorf("there is no partition %s", stream)
	}
	return out, nil
}

// ends is what a partition holds.
type ends struct {
	topic       kafkanet.TopicID
	leader      int
	first, last int64
}

// ends looks at all partitions, by stream. The cluster may still have to be found.
func (r *session) ends(ctx context.Context) (map[string]ends, error) {
	for {
		topics, err := r.client.Topics(ctx, r.s.cfg.Topics)
		out, ask := map[string]ends{}, map[string][]kafka.OffsetRequest{}
		for i := range topics {
			t := &topics[i]
			if t.Err != nil {
				err = errors.Join(err, fmt.Errorf("topic %s: %w", t.Name, t.Err))
			}
			for _, p := range t.Partitions {
				out[streamOf(t.Name, p.ID)] = ends{topic: t.ID, leader: p.Leader}
				ask[t.Name] = append(ask[t.Name], kafka.FirstOffsetOf(p.ID), kafka.LastOffsetOf(p.ID))
			}
		}
		var got map[string]kafka.PartitionOffsets
		if err == nil {
			got, err = r.offsets(ctx, ask)
		}
		if err == nil {
			for stream, e := range out {
				e.first, e.last = got[stream].FirstOffset, got[stream].LastOffset
				out[stream] = e
			}
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("ask the brokers for the topics: %w", r.client.Hide(err))
		case <-time.After(kafkanet.Backoff(1)):
		}
	}
}

// parsePositions reads what describe shows: topic/0@42,topic/1@7. It is empty for "end".
func parsePositions(text string) (map[string]place, error) {
	out := map[string]place{}
	if text == "end" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		stream, number, _ := strings.Cut(strings.TrimSpace(part), "@")
		offset, err := strconv.ParseInt(number, 10, 64)
		at, ok := parsePlace(boundary.Position{Stream: stream, Offset: offset})
		if !ok || err != nil || offset < 0 {
			return nil, fmt.Errorf("%q is not a position of a partition: say start, end, or topic/0@42,topic/1@7", part)
		}
		out[at.stream()] = at
	}
	return out, nil
}
