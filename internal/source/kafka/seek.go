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
	r := newSession(s, client, nil, nil)
	ask, err := r.ends(ctx)
	if err != nil {
		return nil, err
	}
	got, err := r.offsets(ctx, ask)
	if err != nil {
		return nil, err
	}
	var out []boundary.Position
	var missing []string
	for stream, have := range got {
		offset, named := want[stream]
		switch {
		case position == "end":
			offset = have.LastOffset
		case !named:
			missing = append(missing, stream)
			continue
		case offset < have.FirstOffset || offset > have.LastOffset:
			return nil, fmt.Errorf("%s has the offsets %d to %d; there is nothing at %d", stream, have.FirstOffset, have.LastOffset, offset)
		}
		delete(want, stream)
		out = append(out, boundary.Position{Stream: stream, Offset: offset})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the position says nothing of %s; name every partition", strings.Join(missing, ", "))
	}
	for stream := range want {
		return nil, fmt.Errorf("there is no partition %s", stream)
	}
	return out, nil
}

// ends is what to ask for to know where every partition begins and ends. The cluster may
// still have to be found.
func (r *session) ends(ctx context.Context) (map[string][]kafka.OffsetRequest, error) {
	for {
		meta, err := r.client.Metadata(ctx, &kafka.MetadataRequest{Topics: r.s.cfg.Topics})
		ask := map[string][]kafka.OffsetRequest{}
		if err == nil {
			for i := range meta.Topics {
				t := &meta.Topics[i]
				err = errors.Join(err, t.Error)
				for _, p := range t.Partitions {
					ask[t.Name] = append(ask[t.Name], kafka.FirstOffsetOf(p.ID), kafka.LastOffsetOf(p.ID))
				}
			}
		}
		if err == nil {
			return ask, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("ask the brokers for the topics: %w", err)
		case <-time.After(kafkanet.Backoff(1)):
		}
	}
}

// parsePositions reads what describe shows: topic/0@42,topic/1@7. It is empty for "end".
func parsePositions(text string) (map[string]int64, error) {
	out := map[string]int64{}
	if text == "end" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		stream, number, _ := strings.Cut(strings.TrimSpace(part), "@")
		offset, err := strconv.ParseInt(number, 10, 64)
		if _, _, ok := parseStream(stream); !ok || err != nil || offset < 0 {
			return nil, fmt.Errorf("%q is not a position of a partition: say start, end, or topic/0@42,topic/1@7", part)
		}
		out[stream] = offset
	}
	return out, nil
}
