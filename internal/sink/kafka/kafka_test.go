package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/server"
)

// each runs a test against an in-process broker, and against the real one of the test bed.
func each(t *testing.T, run func(t *testing.T, addrs []string)) {
	t.Run("kfake", func(t *testing.T) { run(t, fake(t).ListenAddrs()) })
	t.Run("kafka", func(t *testing.T) { run(t, testbed.Kafka(t)) })
}

func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t *testing.T, cfg Config) *Sink {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func config(addrs []string, topic string) Config {
	return Config{Config: kafkanet.Config{Brokers: addrs}, Topic: topic}
}

// records reads all records of a topic, by partition and offset, with another client library.
func records(t *testing.T, addrs []string, topic string, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	ends := map[int32]int64{}
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(50 * time.Millisecond),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for id := range int32(partitions) {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = id, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	total := int64(0)
	for _, shard := range c.RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, rt := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, rp := range rt.Partitions {
				ends[rp.Partition] = rp.Offset
				total += max(rp.Offset, 0)
			}
		}
	}
	var all []*kgo.Record
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for int64(len(all)) < total {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("read %s: %v", topic, err)
		}
		all = append(all, f.Records()...)
	}
	slices.SortFunc(all, func(a, b *kgo.Record) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return all
}

const partitions = 3

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		sinktest.Run(t, func(t *testing.T) sinktest.Place {
			topic := testbed.Topic(t, addrs, partitions, "max.message.bytes=8000000")
			return sinktest.Place{
				// One partition, so that the order is the topic's; the keys are the messages' own.
				Open: func(t *testing.T) sink.Sink {
					cfg := config(addrs, topic)
					cfg.Key = compile(t, "output")
					return open(t, cfg)
				},
				Arrived: func(t *testing.T) []sinktest.Arrival { return arrivals(t, records(t, addrs, topic)) },
			}
		})
	})
}

// arrivals are records as the suite knows them. The key of a message is in none of its
// headers: it is told by the epochs that the suite gives one.
func arrivals(t *testing.T, list []*kgo.Record) []sinktest.Arrival {
	t.Helper()
	var out []sinktest.Arrival
	for _, r := range list {
		epoch, err := strconv.ParseInt(header(r, "Graphd-Epoch"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		key := header(r, "Graphd-Key")
		if key == "" {
			key = "null"
		}
		out = append(out, sinktest.Arrival{Epoch: epoch, Key: json.RawMessage(key), Output: header(r, "Graphd-Output"),
			Value: r.Value})
	}
	return out
}

func compile(t *testing.T, text string) *sink.Option {
	t.Helper()
	x, err := sink.CompileOption(spec.Expr{Text: text}, boundary.Null())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A record tells its firing in its headers, and has the value, the key and the time.
func TestRecord(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, partitions)
		cfg := config(addrs, topic)
		cfg.Compression = "zstd"
		cfg.Headers = []Header{{"content-type", "application/json"}}
		m := sinktest.Message("signals", 7, boundary.Float(0.5))
		m.Key, m.Stable, m.Degraded = `"AAPL"`, true, []string{"orders", "price"}
		if err := open(t, cfg).Deliver(t.Context(), []sink.Message{m}); err != nil {
			t.Fatal(err)
		}
		all := records(t, addrs, topic)
		if len(all) != 1 {
			t.Fatalf("%d records", len(all))
		}
		r := all[0]
		if string(r.Value) != "0.5" || string(r.Key) != "AAPL" || !r.Timestamp.Equal(m.At) {
			t.Errorf("value %s, key %s, time %v", r.Value, r.Key, r.Timestamp)
		}
		for name, want := range map[string]string{
			"Graphd-Firing-Id": m.FiringID(), "Graphd-Firing-Stable": "true", "Graphd-Output": "signals",
			"Graphd-Epoch":       "7",
			"Graphd-Incarnation": "3", "Graphd-Degraded": "orders,price", "Graphd-Key": `"AAPL"`,
			"content-type": "application/json",
		} {
			if got := header(r, name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	})
}

// The key expression reads the value, the graph's key, the epoch, the output and vars; null is no key.
func TestKey(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	shape := boundary.NewShape("symbol")
	value := boundary.Object(shape, []boundary.Value{boundary.String("AAPL")})
	for text, want := range map[string]string{
		"value.symbol": "AAPL", "key": "k", "epoch": "1", "output": "o", "value": `{"symbol":"AAPL"}`, "nil": "",
		"[key, epoch]": `["k",1]`,
	} {
		topic := testbed.Topic(t, addrs, partitions)
		cfg := config(addrs, topic)
		cfg.Key = compile(t, text)
		m := sinktest.Message("o", 1, value)
		m.Key = `"k"`
		if err := open(t, cfg).Deliver(t.Context(), []sink.Message{m}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := records(t, addrs, topic)[0]
		if string(r.Key) != want || (r.Key == nil) != (want == "") {
			t.Errorf("%s: key %q, want %q", text, r.Key, want)
		}
	}
}

// A key that cannot be made refuses its message alone.
func TestKeyFails(t *testing.T) {
	addrs := fake(t).ListenAddrs()
	topic := testbed.Topic(t, addrs, partitions)
	cfg := config(addrs, topic)
	cfg.Key = compile(t, "1 / value")
	batch := []sink.Message{sinktest.Message("o", 1, boundary.Int(1)), sinktest.Message("o", 2, boundary.Int(0)),
		sinktest.Message("o", 3, boundary.Int(2))}
	var refused *sink.PermanentError
	if err := open(t, cfg).Deliver(t.Context(), batch); !errors.As(err, &refused) || refused.Index != 1 ||
		refused.Code != "key_failed" {
		t.Fatalf("got %v", err)
	}
	if n := len(records(t, addrs, topic)); n != 1 {
		t.Errorf("%d records were written, want the one before it", n)
	}
}

// Records with the same key, and all without one, are in one partition and in order; keys
// spread as those of other clients do.
func TestPartitions(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		keyed, plain := testbed.Topic(t, addrs, partitions), testbed.Topic(t, addrs, partitions)
		cfg := config(addrs, keyed)
		cfg.Key = compile(t, "value % 10")
		var batch []sink.Message
		for i := range 3000 {
			batch = append(batch, sinktest.Message("o", int64(i+1), boundary.Int(int64(i))))
		}
		for topic, cfg := range map[string]Config{keyed: cfg, plain: config(addrs, plain)} {
			if err := open(t, cfg).Deliver(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			where, last := map[string]int32{}, map[string]int{}
			used := map[int32]bool{}
			hasher := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
			all := records(t, addrs, topic)
			for _, r := range all {
				n, _ := strconv.Atoi(string(r.Value))
				k := string(r.Key)
				if p, seen := where[k]; seen && (p != r.Partition || n <= last[k]) {
					t.Fatalf("key %q: %d in partition %d after %d in %d", k, n, r.Partition, last[k], p)
				}
				if r.Key != nil && hasher.Partition(r, partitions) != int(r.Partition) {
					t.Fatalf("key %q is in partition %d, other clients choose %d", k, r.Partition,
						hasher.Partition(r, partitions))
				}
				where[k], last[k], used[r.Partition] = r.Partition, n, true
			}
			if len(all) != 3000 || (topic == plain) != (len(used) == 1) {
				t.Errorf("%d records in %d partitions", len(all), len(used))
			}
		}
	})
}

// F25: a record that the broker refuses is named, and nothing behind it in the batch is
// written twice or left out; those around it are written.
func TestF25TooLarge(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, partitions, "max.message.bytes=20000")
		cfg := config(addrs, topic)
		cfg.Key = compile(t, "epoch")
		var batch []sink.Message
		for i := range 300 {
			text := "small"
			if i == 40 || i == 41 || i == 299 {
				text = strings.Repeat("x", 30_000)
			}
			batch = append(batch, sinktest.Message("o", int64(i+1), boundary.String(text)))
		}
		s := open(t, cfg)
		rest, gone := batch, []int64{}
		for len(rest) > 0 {
			err := s.Deliver(t.Context(), rest)
			if err == nil {
				break
			}
			var refused *sink.PermanentError
			if !errors.As(err, &refused) || refused.Code != "kafka_refused" {
				t.Fatalf("got %v", err)
			}
			gone = append(gone, rest[refused.Index].Epoch)
			rest = rest[refused.Index+1:]
		}
		if !slices.Equal(gone, []int64{41, 42, 300}) {
			t.Errorf("refused were the epochs %v", gone)
		}
		counted(t, records(t, addrs, topic), 300, 297)
	})
}

// counted holds that of the epochs up to most n arrived, each once.
func counted(t *testing.T, all []*kgo.Record, most, n int) {
	t.Helper()
	seen := map[string]int{}
	for _, r := range all {
		seen[header(r, "Graphd-Epoch")]++
	}
	twice := 0
	for i := 1; i <= most; i++ {
		if seen[fmt.Sprint(i)] > 1 {
			twice++
		}
	}
	if len(seen) != n || twice > 0 {
		t.Errorf("%d epochs arrived, want %d; %d more than once", len(seen), n, twice)
	}
}

// deliver delivers as a writer does, until the batch is through.
func deliver(t *testing.T, s *Sink, batch []sink.Message) (failures int) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute) // a broker that comes back has to catch up first
	for {
		err := s.Deliver(t.Context(), batch)
		if err == nil {
			return failures
		}
		failures++
		var again *sink.RetryError
		if errors.As(err, &again) {
			batch = batch[again.Index:]
		} else if errors.As(err, new(*sink.PermanentError)) {
			t.Fatalf("refused: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("not delivered: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// F21: an error of the broker, a moved leader and a lost connection are tried again; none is
// lost, the order stays, and only what was sent without an answer may be there twice.
func TestF21Faults(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3), kfake.SeedTopics(partitions, "t"))
	addrs := c.ListenAddrs()
	cfg := config(addrs, "t")
	cfg.Key = compile(t, "epoch % 10")
	s := open(t, cfg)
	failures := 0
	for round := range 12 {
		switch round % 4 {
		case 1:
			c.ShufflePartitionLeaders()
		case 2:
			c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				return nil, net.ErrClosed, true
			})
		case 3:
			c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				return refuseProduce(req.(*kmsg.ProduceRequest), kerr.NotEnoughReplicas.Code), nil, true
			})
		}
		var batch []sink.Message
		for i := range 100 {
			epoch := int64(round*100 + i + 1)
			batch = append(batch, sinktest.Message("o", epoch, boundary.Int(epoch)))
		}
		failures += deliver(t, s, batch)
	}
	if failures < 6 {
		t.Errorf("%d failures: the test has shown nothing", failures)
	}
	all := records(t, addrs, "t")
	counted(t, all, 1200, 1200) // a connection that breaks before the broker reads doubles nothing
	inOrder(t, all)
}

// A batch of several requests stops at the first that fails: nothing overtakes.
func TestNothingOvertakes(t *testing.T) {
	c := fake(t, kfake.SeedTopics(partitions, "t"))
	addrs := c.ListenAddrs()
	requests := 0
	c.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if requests++; requests == 2 {
			return refuseProduce(req.(*kmsg.ProduceRequest), kerr.NotEnoughReplicas.Code), nil, true
		}
		return nil, nil, false
	})
	var batch []sink.Message
	for i := range 4 * requestRecords {
		batch = append(batch, sinktest.Message("o", int64(i+1), boundary.Int(int64(i))))
	}
	if failures := deliver(t, open(t, config(addrs, "t")), batch); failures != 1 {
		t.Errorf("%d failures, want 1", failures)
	}
	all := records(t, addrs, "t")
	counted(t, all, len(batch), len(batch))
	inOrder(t, all)
}

func inOrder(t *testing.T, all []*kgo.Record) {
	t.Helper()
	last := map[int32]int64{}
	for _, r := range all {
		epoch, _ := strconv.ParseInt(header(r, "Graphd-Epoch"), 10, 64)
		if epoch < last[r.Partition] {
			t.Fatalf("epoch %d after %d in partition %d", epoch, last[r.Partition], r.Partition)
		}
		last[r.Partition] = epoch
	}
}

func refuseProduce(req *kmsg.ProduceRequest, code int16) kmsg.Response {
	res := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		res.Topics = append(res.Topics, rt)
	}
	return res
}

// The one doubling there is: the broker wrote the record and its answer was lost. It has
// the same firing id both times.
func TestLostAnswerDoubles(t *testing.T) {
	addrs := fake(t, kfake.SeedTopics(partitions, "t")).ListenAddrs()
	lost := false
	cfg := config(addrs, "t")
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &deaf{Conn: conn, lost: &lost}, err
	}
	m := sinktest.Message("o", 1, boundary.Int(1))
	if failures := deliver(t, open(t, cfg), []sink.Message{m}); failures != 1 {
		t.Errorf("%d failures, want 1", failures)
	}
	all := records(t, addrs, "t")
	if len(all) != 2 || header(all[0], "Graphd-Firing-Id") != m.FiringID() ||
		header(all[1], "Graphd-Firing-Id") != m.FiringID() {
		t.Errorf("%d records", len(all))
	}
}

// deaf loses the answer to the first produce request, once.
type deaf struct {
	net.Conn
	produced bool
	lost     *bool
}

func (d *deaf) Write(b []byte) (int, error) {
	if len(b) > 6 && b[4] == 0 && b[5] == byte(kmsg.Produce) && !*d.lost {
		d.produced = true
	}
	return d.Conn.Write(b)
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if d.produced && !*d.lost {
		*d.lost = true
		_ = d.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// F21 on the real server: replicas that are not in sync enough hold the record back, a
// broker that is killed loses nothing that was acknowledged.
func TestF21RealBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three brokers")
	}
	k := testbed.OwnKafka(t, server.KafkaConfig{Brokers: 3})
	addrs := k.Addrs()
	topic := testbed.Topic(t, addrs, partitions, "min.insync.replicas=3")
	cfg := config(addrs, topic)
	cfg.Key, cfg.Timeout = compile(t, "epoch % 10"), 5*time.Second
	s := open(t, cfg)
	batch := func(round int) (list []sink.Message) {
		for i := range 100 {
			epoch := int64(round*100 + i + 1)
			list = append(list, sinktest.Message("o", epoch, boundary.Int(epoch)))
		}
		return list
	}
	deliver(t, s, batch(0))
	k.Kill(2)
	err := s.Deliver(t.Context(), batch(1))
	if errors.As(err, new(*sink.PermanentError)) || err == nil {
		t.Fatalf("with two of three replicas: %v, want a failure to be tried again", err)
	}
	if err := k.Start(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, batch(1))
	if err := k.Stop(0); err != nil { // leaders move
		t.Fatal(err)
	}
	if err := k.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, batch(2))
	seen := map[string]bool{}
	for _, r := range records(t, addrs, topic) {
		seen[header(r, "Graphd-Epoch")] = true
	}
	if len(seen) != 300 {
		t.Errorf("%d of 300 epochs are there", len(seen))
	}
}

// A topic that is not there is an error to be tried again: it may be made.
func TestNoTopic(t *testing.T) {
	c := fake(t)
	s := open(t, config(c.ListenAddrs(), "later"))
	batch := []sink.Message{sinktest.Message("o", 1, boundary.Int(1))}
	if err := s.Deliver(t.Context(), batch); err == nil || errors.As(err, new(*sink.PermanentError)) {
		t.Fatalf("got %v", err)
	}
	if err := c.CreateTopic("later", partitions, nil); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, batch)
}

// TLS and SASL.
func TestTLSAndSASL(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := fake(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "anna", "secret"),
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}))
	cfg := config(c.ListenAddrs(), "t")
	cfg.TLS, cfg.SASL = &kafkanet.TLS{CAFile: ca}, &kafkanet.SASL{
		Mechanism: "scram-sha-512", Username: "anna", Password: "secret",
	}
	batch := []sink.Message{sinktest.Message("o", 1, boundary.Int(1))}
	if err := open(t, cfg).Deliver(t.Context(), batch); err != nil {
		t.Error(err)
	}
	cfg.SASL = &kafkanet.SASL{Mechanism: "scram-sha-512", Username: "anna", Password: "wrong"}
	if err := open(t, cfg).Deliver(t.Context(), batch); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong password: %v", err)
	}
}

// What cannot be is refused with all that is wrong.
func TestValidate(t *testing.T) {
	_, err := New(Config{
		Config: kafkanet.Config{
			Brokers: []string{"nohost"}, TLS: &kafkanet.TLS{CertFile: "x"}, SASL: &kafkanet.SASL{Mechanism: "oauth"},
		}, Compression: "brotli",
	})
	for _, want := range []string{"nohost", "key_file", "oauth", "topic is missing", "brotli"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
