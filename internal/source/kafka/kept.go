package kafka

import (
	"time"

	"github.com/graphd/graphd/internal/kafkanet"
)

// kept is what one run has opened and learned, for the next one: it takes more round trips than to read on.
type kept struct {
	client *kafkanet.Client
	newest map[int]int16 // the newest version of a fetch that a leader speaks, once known
	seen   *seen         // the last look, where it found all there is; nil otherwise
	heard  time.Time     // when a leader has last answered
}

// silent is after how long without an answer connections may be half open: leaders answer every maxWait.
const silent = 2 * maxWait

func newKept(client *kafkanet.Client) *kept { return &kept{client: client, newest: map[int]int16{}} }

// open is what the run before has kept, or a client that connects when it is first used.
func (s *Source) open() (*kept, error) {
	if with := s.kept; with != nil && time.Since(with.heard) < silent {
		s.kept = nil
		return with, nil
	}
	s.Close()
	client, err := kafkanet.New(s.cfg.Config, s.cfg.Topics)
	return newKept(client), err
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

// look is the last look of the run before, unless that is older than one may be while the next is on its way.
func (k *kept) look(every time.Duration) *seen {
	if k.seen == nil || time.Since(k.seen.at) >= 2*every {
		return nil
	}
	return k.seen
}
