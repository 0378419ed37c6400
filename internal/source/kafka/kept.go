package kafka

import (
	"time"

	"github.com/graphd/graphd/internal/kafkanet"
)

// kept is what one run has opened and learned, for the next one: to connect, to ask what the brokers speak and where
// partitions are takes more round trips than to read on.
type kept struct {
	client *kafkanet.Client
	newest map[int]int16 // the newest version of a fetch that a leader speaks, once known
	seen   *seen         // the last look, where it found all there is; nil otherwise
}

func newKept(client *kafkanet.Client) *kept { return &kept{client: client, newest: map[int]int16{}} }

// open is what the run before has kept, or a client that connects when it is first used.
func (s *Source) open() (*kept, error) {
	if with := s.kept; with != nil {
		s.kept = nil
		return with, nil
	}
	client, err := kafkanet.New(s.cfg.Config, s.cfg.Topics)
	if err != nil {
		return nil, err
	}
	return newKept(client), nil
}

// Last implements [accumulator.Lasting].
func (s *Source) Last() { s.lasts = true }

// Close implements [accumulator.Lasting].
func (s *Source) Close() {
	if s.kept != nil {
		s.kept.client.Close()
		s.kept = nil
	}
}

// look is the last look of the run before, where that is not older than any look may be; nil otherwise.
func (k *kept) look(every time.Duration) *seen {
	if k.seen == nil || time.Since(k.seen.at) >= every {
		return nil
	}
	return k.seen
}
