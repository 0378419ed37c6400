package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
)

// mirrorPatience bounds one commit of a group's offsets.
const mirrorPatience = 5 * time.Second

// commitGroup writes the group's offsets, as a client that is no member of it. Nothing is ever read from there.
func (s *Source) commitGroup(ctx context.Context, client *kafkanet.Client, positions []boundary.Position) error {
	ctx, cancel := context.WithTimeout(ctx, mirrorPatience)
	defer cancel()
	topics := map[string][]kafka.OffsetCommit{}
	for _, p := range positions {
		if at, ok := parsePlace(p); ok {
			topics[at.topic] = append(topics[at.topic], kafka.OffsetCommit{Partition: at.id, Offset: at.offset})
		}
	}
	res, err := client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: s.cfg.Group, GenerationID: -1, Topics: topics,
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, partitions := range res.Topics {
		for _, p := range partitions {
			errs = append(errs, p.Error)
		}
	}
	return errors.Join(errs...)
}
