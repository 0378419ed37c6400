package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kafkanet/mirror"
	"github.com/graphd/graphd/internal/kafkanet/portion"
)

// Config says what to read.
type Config struct {
	kafkanet.Config
	Topics []string
	// Group is the consumer group whose offsets mirror the checkpoint; "" means none.
	Group string
	// Start is where to begin what has no position yet.
	Start Start
	// Format is "json" (also when empty), or "raw": the record's text as it is.
	Format string
	// MaxEventBytes bounds one record's value; 0 means [accumulator.DefaultMaxEventBytes].
	MaxEventBytes int
	// MaxBatchBytes bounds a record batch, as it is sent and decompressed; 0 means 16 MiB.
	MaxBatchBytes int
}

// Start is where to begin. The zero Start is the earliest record.
type Start struct {
	// At is "earliest" (also when empty), "latest", "timestamp" or "offsets".
	At string
	// Time: begin with the first record that is not older.
	Time time.Time
	// Offsets to begin with, by "topic/partition"; other partitions begin with the earliest.
	Offsets map[string]int64
}

const defaultBatchBytes = 16 << 20

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if len(c.Topics) == 0 {
		errs = append(errs, errors.New("topics are missing: name at least one"))
	}
	for i, t := range c.Topics {
		if t == "" || slices.Contains(c.Topics[:i], t) {
			errs = append(errs, fmt.Errorf("topic %q is empty or named twice", t))
		}
	}
	if c.Format != "" && c.Format != "json" && c.Format != "raw" {
		errs = append(errs, fmt.Errorf("format %q is not known: write json or raw", c.Format))
	}
	if !slices.Contains([]string{"", "earliest", "latest", "timestamp", "offsets"}, c.Start.At) {
		errs = append(errs, fmt.Errorf("start %q is not known: write earliest, latest, timestamp or offsets",
			c.Start.At))
	}
	for stream, offset := range c.Start.Offsets {
		topic, _, ok := parseStream(stream)
		if !ok || !slices.Contains(c.Topics, topic) || offset < 0 {
			errs = append(errs,
				fmt.Errorf("start offset %s: %d is not a partition of the topics, topic/number, and an offset", stream,
					offset))
		}
	}
	return errors.Join(errs...)
}

// Source reads topics. It is an [accumulator.Source].
type Source struct {
	cfg Config
	// behind is how long a broker may have less than was read, or another topic.
	behind time.Duration
	every  time.Duration // how often the topics are looked at
	lag    atomic.Int64  // -1: not known
	part   portion.Portion
	lasts  bool  // runs keep what they have opened
	kept   *kept // by the run before; nil while nothing is
	mirror *mirror.Mirror
}

var (
	_ accumulator.Source    = (*Source)(nil)
	_ accumulator.Mirror    = (*Source)(nil)
	_ accumulator.Skipper   = (*Source)(nil)
	_ accumulator.LagTeller = (*Source)(nil)
	_ accumulator.Follower  = (*Source)(nil)
	_ accumulator.Lasting   = (*Source)(nil)

	_ accumulator.Partitioned = (*Source)(nil)
)

// New makes a Source. It connects when it is run.
func New(cfg Config) (*Source, error) {
	if cfg.MaxEventBytes <= 0 {
		cfg.MaxEventBytes = accumulator.DefaultMaxEventBytes
	}
	if cfg.MaxBatchBytes <= 0 {
		cfg.MaxBatchBytes = max(defaultBatchBytes, 2*cfg.MaxEventBytes)
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("kafka source: %w", err)
	}
	s := &Source{cfg: cfg, behind: beyondPatience, every: lookEvery, mirror: mirror.New()}
	s.lag.Store(-1)
	return s, nil
}

// Mirrors implements [accumulator.Mirror]: it commits to a consumer group where one is declared.
func (s *Source) Mirrors() bool { return s.cfg.Group != "" }

// Durable implements [accumulator.Mirror].
func (s *Source) Durable(at func() []boundary.Position) { s.mirror.Durable(at) }

// Portion implements [accumulator.Partitioned].
func (s *Source) Portion(of int, has func(remainder int) bool) {
	s.part = portion.Portion{Of: of, Has: has}
}

// Lag implements [accumulator.LagTeller].
func (s *Source) Lag() (records int64, known bool) {
	n := s.lag.Load()
	return n, n >= 0
}

// Follows implements [accumulator.Follower]: it knows of each partition how many records there are.
func (s *Source) Follows() bool { return true }

// Run implements [accumulator.Source].
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	places, err := parsePlaces(from)
	if err != nil {
		return fmt.Errorf("kafka source: %w", err)
	}
	with, err := s.open()
	if err != nil {
		return fmt.Errorf("kafka source: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() {
		stop()
		if s.kept != with {
			with.client.Close() // what waits for an answer ends with it
		}
		wg.Wait()
	}()
	if s.cfg.Group != "" {
		s.Durable(func() []boundary.Position { return from }) // a resume point is durable
		wg.Go(func() {
			s.mirror.Run(ctx, func(ctx context.Context, at []boundary.Position) error {
				return s.commitGroup(ctx, with.client, at)
			})
		})
	}
	defer s.lag.Store(-1)
	run := newSession(s, with, out, places)
	err = run.loop(ctx, &wg)
	if ctx.Err() != nil {
		if s.lasts {
			s.kept = with
		}
		return nil
	}
	return err
}

// streamOf names the stream of a partition, in positions and in start offsets.
func streamOf(topic string, id int) string { return fmt.Sprintf("%s/%d", topic, id) }

// parseStream is the inverse of streamOf.
func parseStream(stream string) (topic string, id int, ok bool) {
	i := strings.LastIndexByte(stream, '/')
	if i <= 0 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(stream[i+1:], "%d", &id); err != nil || id < 0 || streamOf(stream[:i], id) != stream {
		return "", 0, false
	}
	return stream[:i], id, true
}
