package spec

import (
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// KafkaCluster says how to reach the brokers.
type KafkaCluster struct {
	Brokers []string // host:port; nil: the daemon's own
	TLS     *KafkaTLS
	SASL    *KafkaSASL
}

// KafkaTLS says how connections are encrypted; all of it may be left out.
type KafkaTLS struct{ CAFile, CertFile, KeyFile, ServerName string }

// KafkaSASL says who the client is. The password may be a secret.
type KafkaSASL struct{ Mechanism, Username, Password string }

// KafkaSource reads topics.
type KafkaSource struct {
	KafkaCluster
	Topics        []string
	Group         string // whose offsets mirror the checkpoint; "": none
	Start         KafkaStart
	Format        string // "json" (default) or "raw"
	MaxBatchBytes int    // default 16 MiB
}

// KafkaStart says where to begin what has no position yet.
type KafkaStart struct {
	At      string           // "earliest" (default), "latest", "timestamp", "offsets"
	Time    time.Time        // of "timestamp"
	Offsets map[string]int64 // of "offsets", by "topic/partition"
}

// KafkaSink writes to a topic.
type KafkaSink struct {
	KafkaCluster
	Topic       string
	Key         Expr // over: value, key, epoch, output, vars
	Headers     []Header
	Compression string // "none" (default), "gzip", "snappy", "lz4", "zstd"
}

const (
	maxTopics         = 256
	defaultBatchBytes = 16 << 20
)

var (
	kafkaFormats      = choice{built: []string{"json", "raw"}}
	kafkaCompressions = choice{built: []string{"none", "gzip", "snappy", "lz4", "zstd"}}
	saslMechanisms    = choice{built: []string{"plain", "scram-sha-256", "scram-sha-512"}}
	kafkaStarts       = choice{built: []string{"earliest", "latest"}}

	kafkaSourceFields = []field[KafkaSource]{
		{name: "brokers", read: func(d *decoder, v value, k *KafkaSource) { k.Brokers = d.brokers(v) }},
		{name: "topic", read: func(d *decoder, v value, k *KafkaSource) { k.Topics = d.topics(v, false) }},
		{name: "topics", read: func(d *decoder, v value, k *KafkaSource) { k.Topics = d.topics(v, true) }},
		{name: "group", read: func(d *decoder, v value, k *KafkaSource) { k.Group, _ = d.text(v, "the name of a consumer group") }},
		{name: "start", read: readKafkaStart},
		{name: "format", read: func(d *decoder, v value, k *KafkaSource) { d.pick(v, kafkaFormats, &k.Format) }},
		{name: "max_batch_bytes", read: func(d *decoder, v value, k *KafkaSource) { d.count(v, 1<<10, 1<<30, &k.MaxBatchBytes) }},
		{name: "tls", read: func(d *decoder, v value, k *KafkaSource) { k.TLS = readKafkaTLS(d, v) }},
		{name: "sasl", read: func(d *decoder, v value, k *KafkaSource) { k.SASL = readKafkaSASL(d, v) }},
	}
	kafkaSinkFields = []field[KafkaSink]{
		{name: "brokers", read: func(d *decoder, v value, k *KafkaSink) { k.Brokers = d.brokers(v) }},
		{name: "topic", need: true, read: func(d *decoder, v value, k *KafkaSink) { k.Topic = d.topic(v) }},
		{name: "key", read: func(d *decoder, v value, k *KafkaSink) { k.Key = d.expr(v) }},
		{name: "headers", read: func(d *decoder, v value, k *KafkaSink) { k.Headers = d.headers(v) }},
		{name: "compression", read: func(d *decoder, v value, k *KafkaSink) { d.pick(v, kafkaCompressions, &k.Compression) }},
		{name: "tls", read: func(d *decoder, v value, k *KafkaSink) { k.TLS = readKafkaTLS(d, v) }},
		{name: "sasl", read: func(d *decoder, v value, k *KafkaSink) { k.SASL = readKafkaSASL(d, v) }},
	}
	kafkaStartFields = []field[KafkaStart]{
		{name: "timestamp", read: readKafkaTime},
		{name: "offsets", read: readKafkaOffsets},
	}
	kafkaTLSFields = []field[KafkaTLS]{
		{name: "ca_file", read: func(d *decoder, v value, t *KafkaTLS) { t.CAFile, _ = d.text(v, "the path of a file") }},
		{name: "cert_file", read: func(d *decoder, v value, t *KafkaTLS) { t.CertFile, _ = d.text(v, "the path of a file") }},
		{name: "key_file", read: func(d *decoder, v value, t *KafkaTLS) { t.KeyFile, _ = d.text(v, "the path of a file") }},
		{name: "server_name", read: func(d *decoder, v value, t *KafkaTLS) {
			t.ServerName, _ = d.text(v, "the name in the brokers' certificates")
		}},
	}
	kafkaSASLFields = []field[KafkaSASL]{
		{name: "mechanism", read: func(d *decoder, v value, s *KafkaSASL) { d.pick(v, saslMechanisms, &s.Mechanism) }},
		{name: "username", need: true, read: func(d *decoder, v value, s *KafkaSASL) { s.Username, _ = d.text(v, "a user's name") }},
		{name: "password", need: true, read: func(d *decoder, v value, s *KafkaSASL) { s.Password, _ = d.text(v, "a password") }},
	}
)

func readKafkaSource(d *decoder, v value, s *Source) {
	k := &s.Kafka
	k.Start.At, k.Format, k.MaxBatchBytes = kafkaStarts.built[0], kafkaFormats.built[0], defaultBatchBytes
	got, ok := readObject(d, v, "source kafka", kafkaSourceFields, k)
	if !ok {
		return
	}
	_, one := got["topic"]
	_, many := got["topics"]
	switch {
	case one && many:
		second := got["topics"]
		if compareNodes(second.key, got["topic"].key) < 0 {
			second = got["topic"]
		}
		d.report(second.key, second.at, CodeConflict, "", "topic and topics say the same thing in two ways; keep one of them")
	case !one && !many:
		d.missing(v, "topic", "source kafka")
	}
	start, given := got["start"]
	for stream := range k.Start.Offsets {
		topic, _ := cutPartition(stream)
		known := false
		for _, t := range k.Topics {
			known = known || t == topic
		}
		if given && !known {
			d.report(start.node, start.at, CodeBadValue, "", "the offset of %s is of no topic of this source; name one of its topics", document.Quote(stream))
			return
		}
	}
}

func readKafkaSink(d *decoder, v value, s *Sink) {
	s.Kafka.Compression = kafkaCompressions.built[0]
	readObject(d, v, "sink kafka", kafkaSinkFields, &s.Kafka)
}

// list is the items of a list, or the one value itself.
func (d *decoder) list(v value, most int, what string) []value {
	if v.node.Kind != yaml.SequenceNode || d.doc.Unreadable(v.node) != "" {
		return []value{v}
	}
	n := len(v.node.Content)
	if n == 0 {
		d.report(v.node, v.at, CodeEmptyValue, "", "expected %s, found an empty list; name at least one, or remove it", what)
		return nil
	}
	if n > most {
		d.report(v.node, v.at, CodeTooMany, "", "the list has %d entries, more than the %d allowed; shorten it", n, most)
		return nil
	}
	items := make([]value, n)
	for i := range items {
		items[i] = v.item(i)
	}
	return items
}

// brokers reads addresses: a list, or one text with commas.
func (d *decoder) brokers(v value) (list []string) {
	const want = "a broker's address, host:port, or a list of them"
	for _, item := range d.list(v, maxTopics, want) {
		s, ok := d.text(item, want)
		if !ok {
			continue
		}
		for addr := range strings.SplitSeq(s, ",") {
			addr = strings.TrimSpace(addr)
			host, port, err := net.SplitHostPort(addr)
			if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
				d.report(item.node, item.at, CodeBadValue, "", "expected %s, found %s", want, document.Describe(item.node))
				break
			}
			list = append(list, addr)
		}
	}
	return list
}

// topics reads the name of a topic, or a list of them.
func (d *decoder) topics(v value, many bool) (list []string) {
	items := []value{v}
	if many {
		const want = "a list of topics"
		if !d.kind(v, yaml.SequenceNode, want) {
			return nil
		}
		items = d.list(v, maxTopics, want)
	}
	seen := map[string]bool{}
	for _, item := range items {
		name := d.topic(item)
		if seen[name] && name != "" {
			d.report(item.node, item.at, CodeDuplicateEntry, "", "%s is named twice; remove one", document.Quote(item.node.Value))
			continue
		}
		seen[name] = true
		list = append(list, name)
	}
	return list
}

// topic reads the name of one topic.
func (d *decoder) topic(v value) string {
	s, ok := d.text(v, "the name of a topic")
	if ok && (len(s) > 249 || s == "." || s == ".." || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "") {
		d.report(v.node, v.at, CodeBadName, "", "%s cannot be the name of a topic: a name has letters, digits, ., _ and -, at most 249", document.Quote(v.node.Value))
		return ""
	}
	return s
}

// readKafkaStart reads a word, or a mapping that says more.
func readKafkaStart(d *decoder, v value, k *KafkaSource) {
	if v.node.Kind != yaml.MappingNode {
		d.pick(v, kafkaStarts, &k.Start.At)
		return
	}
	if kind, ok := readOne(d, v, "start", kafkaStartFields, &k.Start); ok {
		k.Start.At = kind.key.Value
	}
}

func readKafkaTime(d *decoder, v value, s *KafkaStart) {
	const want = "a time such as 2026-11-01T00:00:00Z"
	text, ok := d.text(v, want)
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		d.report(v.node, v.at, CodeBadValue, "", "expected %s, found %s", want, document.Describe(v.node))
		return
	}
	s.Time = at
}

func readKafkaOffsets(d *decoder, v value, s *KafkaStart) {
	if !d.mapping(v, "a mapping from topic/partition to offsets") {
		return
	}
	s.Offsets = map[string]int64{}
	for _, p := range d.pairs(v, func(string) bool { return false }) {
		if _, ok := cutPartition(p.key.Value); !ok {
			d.report(p.key, p.at, CodeBadName, "", "%s is no partition; write topic/number", document.Quote(p.key.Value))
			continue
		}
		if n, ok := d.integer(p.value, 0, math.MaxInt64); ok {
			s.Offsets[p.key.Value] = n
		}
	}
}

// cutPartition is the topic of "topic/partition".
func cutPartition(s string) (topic string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 {
		return "", false
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 31)
	return s[:i], err == nil && strconv.FormatUint(n, 10) == s[i+1:]
}

// readKafkaTLS reads what TLS needs; {} is all that the system's own authorities need.
func readKafkaTLS(d *decoder, v value) *KafkaTLS {
	t := &KafkaTLS{}
	got, ok := readObject(d, v, "tls", kafkaTLSFields, t)
	cert, hasCert := got["cert_file"]
	key, hasKey := got["key_file"]
	if ok && hasCert != hasKey {
		if hasKey {
			cert = key
		}
		d.report(cert.key, cert.at, CodeMissingField, "", "a client certificate needs both cert_file and key_file; add the other")
	}
	return t
}

func readKafkaSASL(d *decoder, v value) *KafkaSASL {
	s := &KafkaSASL{Mechanism: saslMechanisms.built[0]}
	readObject(d, v, "sasl", kafkaSASLFields, s)
	return s
}
