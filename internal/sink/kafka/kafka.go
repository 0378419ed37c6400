// Package kafka is the sink that writes each value as one record of a topic, acknowledged
// by all replicas that are in sync.
//
// A record says which firing it belongs to:
//
//	Graphd-Firing-Id      the id of this value
//	Graphd-Firing-Stable  whether a value that is sent again has the same id and content;
//	                      false on the direct path, where a crash may lie between
//	Graphd-Output, Graphd-Epoch, Graphd-Incarnation, Graphd-Key
//	Graphd-Degraded       what was not healthy, where something was not
//	traceparent           the span of the delivery, where epochs are traced
//
// Its value is the output's value as JSON, its time the epoch's, its key what the key
// expression says, or else the graph's key. Records with a key go to the partition that
// Kafka's own clients would choose; without any key, all records of an output go to one
// partition, so that their order is kept. Within a partition the order of the epochs is
// always kept: what follows a record that could not be written is not tried before it.
//
// The client library has no idempotent producer: when an answer is lost the record is sent
// again, and may then be there twice, with the same firing id.
//
// # Concurrency
//
// A Sink is used by one goroutine. Deliver writes to several partitions at once and joins
// what it starts; the connections' goroutines end with Close.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/sink"
)

// Header is a header that every record has.
type Header struct{ Name, Value string }

// Config says where values go.
type Config struct {
	kafkanet.Config
	Topic string
	// Key makes a record's key; nil means the graph's key.
	Key     *sink.Option
	Headers []Header
	// Compression is "none" (also when empty), "gzip", "snappy", "lz4" or "zstd".
	Compression string
	// Timeout bounds one request; 0 means 10s.
	Timeout time.Duration
}

// Compressions are those there are.
func Compressions() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if c.Topic == "" {
		errs = append(errs, errors.New("topic is missing: name the topic to write to"))
	}
	if _, err := c.compression(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *Config) compression() (code compress.Compression, err error) {
	if c.Compression == "" {
		return compress.None, nil
	}
	err = code.UnmarshalText([]byte(c.Compression))
	return code, err
}

const (
	defaultTimeout = 10 * time.Second
	// requestRecords and requestBytes bound what is sent to a partition at once: below the
	// 1 MiB that brokers accept by default. A larger record goes alone, and the broker decides.
	requestRecords = 4096
	requestBytes   = 768 << 10
	// writers bounds how many partitions are written to at once.
	writers = 8
	// recordOverhead is more than a record takes beside its key, value and headers.
	recordOverhead = 32
)

// Sink writes records.
type Sink struct {
	cfg         Config
	compression compress.Compression
	client      *kafkanet.Client
	// written are the firings of a batch that has partly failed which need not be sent again.
	written map[string]bool
}

var _ sink.Carrier = (*Sink)(nil)

// New makes a Sink. It connects when there is something to write.
func New(cfg Config) (*Sink, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("kafka sink: %w", err)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	code, err := cfg.compression()
	if err != nil {
		return nil, fmt.Errorf("kafka sink: %w", err)
	}
	client, err := kafkanet.New(cfg.Config, []string{cfg.Topic})
	if err != nil {
		return nil, fmt.Errorf("kafka sink: %w", err)
	}
	return &Sink{cfg: cfg, compression: code, client: client, written: map[string]bool{}}, nil
}

// record is one message on its way.
type record struct {
	index      int // in the batch
	at         time.Time
	key, value []byte // key is nil for none
	headers    []kafka.Header
	partition  int
	size       int
	err        error // why it is not written
	sent       bool
}

// Deliver writes the batch.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil || len(batch) == 0 {
		return err
	}
	partitions, err := s.partitions(ctx)
	if err != nil {
		return fmt.Errorf("write to topic %s: %w", s.cfg.Topic, s.client.Hide(err))
	}
	records := make([]record, len(batch))
	by := map[int][]*record{}
	for i := range batch {
		r := &records[i]
		if r.index = i; len(s.written) > 0 && s.written[batch[i].FiringID()] {
			r.sent = true
			continue
		}
		if err := s.render(r, &batch[i], partitions); err != nil {
			r.err = &sink.PermanentError{Index: i, Code: "key_failed", Err: err}
			break // those after it are not tried
		}
		by[r.partition] = append(by[r.partition], r)
	}
	s.write(ctx, by)
	return s.outcome(batch, records)
}

// outcome is what became of the batch: nil, or an error about the first message that is
// not written. What is written behind it is remembered.
func (s *Sink) outcome(batch []sink.Message, records []record) error {
	first := -1
	for i := range records {
		if !records[i].sent {
			first = i
			break
		}
	}
	clear(s.written)
	if first < 0 {
		return nil
	}
	for i := first + 1; i < len(records); i++ {
		if records[i].sent {
			s.written[batch[i].FiringID()] = true
		}
	}
	err := records[first].err
	if refused := new(sink.PermanentError); errors.As(err, &refused) {
		return refused
	}
	return &sink.RetryError{Index: first, Err: fmt.Errorf("write to topic %s: %w", s.cfg.Topic,
		s.client.Hide(err))}
}

// partitions are the numbers of the topic's partitions.
func (s *Sink) partitions(ctx context.Context) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	m, err := s.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{s.cfg.Topic}})
	if err != nil {
		return nil, err
	}
	if len(m.Topics) != 1 {
		return nil, errors.New("the brokers do not tell its partitions")
	}
	if t := &m.Topics[0]; t.Error != nil {
		return nil, t.Error
	}
	ids := make([]int, len(m.Topics[0].Partitions))
	for i, p := range m.Topics[0].Partitions {
		ids[i] = p.ID
	}
	if len(ids) == 0 {
		return nil, errors.New("it has no partitions")
	}
	return ids, nil
}

// render makes the record of a message.
func (s *Sink) render(r *record, m *sink.Message, partitions []int) error {
	key, err := s.key(m)
	if err != nil {
		return fmt.Errorf("make the record's key: %w", err)
	}
	r.at, r.key, r.value, r.headers = m.At, key, m.Value.AppendJSON(nil), s.headers(m)
	r.size = len(key) + len(r.value)
	for _, h := range r.headers {
		r.size += len(h.Key) + len(h.Value) + recordOverhead/4
	}
	r.size += recordOverhead
	by := key
	if len(by) == 0 {
		by = []byte(m.Output) // one partition for all
	}
	r.partition = kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: by}, partitions...)
	return nil
}

// key is a record's key; nil for none. A text is its bytes, anything else its JSON.
func (s *Sink) key(m *sink.Message) ([]byte, error) {
	var v boundary.Value
	if m.Key != "" {
		v = m.Key.Value()
	}
	if s.cfg.Key != nil {
		var err error
		if v, err = s.cfg.Key.Of(m); err != nil {
			return nil, err
		}
	}
	switch {
	case v.IsAbsent() || v.IsNull():
		return nil, nil
	case v.Kind() == boundary.KindString:
		text, _ := v.AsString()
		return []byte(text), nil
	}
	return v.AppendJSON(nil), nil
}

// CarriesTrace implements [sink.Carrier].
func (*Sink) CarriesTrace() {}

func (s *Sink) headers(m *sink.Message) []kafka.Header {
	list := make([]kafka.Header, 0, 7+len(s.cfg.Headers))
	add := func(name, value string) { list = append(list, kafka.Header{Key: name, Value: []byte(value)}) }
	add("Graphd-Firing-Id", m.FiringID())
	add("Graphd-Firing-Stable", strconv.FormatBool(m.Stable))
	add("Graphd-Output", m.Output)
	add("Graphd-Epoch", strconv.FormatInt(m.Epoch, 10))
	add("Graphd-Incarnation", strconv.FormatInt(m.Incarnation, 10))
	if m.Key != "" {
		add("Graphd-Key", string(m.Key))
	}
	if len(m.Degraded) > 0 {
		add("Graphd-Degraded", strings.Join(m.Degraded, ","))
	}
	if m.Trace != nil {
		add("traceparent", m.Trace.String())
	}
	for _, h := range s.cfg.Headers {
		add(h.Name, h.Value)
	}
	return list
}

// write writes to several partitions at once, to each in order.
func (s *Sink) write(ctx context.Context, by map[int][]*record) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, writers)
	for partition, records := range by {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			s.writePartition(ctx, partition, records)
		})
	}
}

// writePartition writes records one request after the other, until one fails.
func (s *Sink) writePartition(ctx context.Context, partition int, records []*record) {
	for len(records) > 0 {
		n, size := 0, 0
		for n < len(records) && n < requestRecords && (n == 0 || size+records[n].size <= requestBytes) {
			size += records[n].size
			n++
		}
		if !s.send(ctx, partition, records[:n]) {
			return
		}
		records = records[n:]
	}
}

// send writes records in one request. A refusal of several is tried in halves, to find the
// one that is meant. It reports whether all are written.
func (s *Sink) send(ctx context.Context, partition int, records []*record) bool {
	err := s.produce(ctx, partition, records)
	switch {
	case err == nil:
		for _, r := range records {
			r.sent = true
		}
		return true
	case !refused(err):
		records[0].err = err
		return false
	case len(records) > 1:
		half := len(records) / 2
		return s.send(ctx, partition, records[:half]) && s.send(ctx, partition, records[half:])
	}
	r := records[0]
	r.err = &sink.PermanentError{
		Index: r.index, Code: "kafka_refused", Err: fmt.Errorf("topic %s refuses a record of %d bytes: %w", s.cfg.Topic,
			r.size, err),
	}
	return false
}

// refused reports whether the broker will never take the records.
func refused(err error) bool {
	for _, code := range []kafka.Error{kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidRecord,
		kafka.InvalidTimestamp} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func (s *Sink) produce(ctx context.Context, partition int, records []*record) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	list := make([]kafka.Record, len(records))
	for i, r := range records {
		// A request reads them to their end: one that is tried again needs new ones.
		list[i] = kafka.Record{Time: r.at, Key: kafka.NewBytes(r.key), Value: kafka.NewBytes(r.value),
			Headers: r.headers}
	}
	res, err := s.client.Produce(ctx, &kafka.ProduceRequest{
		Topic: s.cfg.Topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(list...), Compression: s.compression,
	})
	if err != nil {
		return err
	}
	return res.Error
}

// Close breaks the connections. It may be called twice.
func (s *Sink) Close(context.Context) error {
	s.client.Close()
	return nil
}
