package kafka

import (
	_ "embed"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source; an event has at most maxEventBytes bytes.
func Kind(daemon kafkanet.Daemon, maxEventBytes int) kind.Source[accumulator.Source] {
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		net, err := c.Connect(daemon, &in.Place)
		if err != nil {
			return nil, err
		}
		net.Traced = daemon.Traced
		return New(Config{
			Config: net, Topics: c.Topics, Group: c.Group, Format: c.Format, Start: c.Start,
			MaxEventBytes: maxEventBytes, MaxBatchBytes: c.MaxBatchBytes,
		})
	}
	declared := decode.NewKind("kafka", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it.
type Declared struct {
	kafkanet.Cluster
	Topics        []string
	Group         string // whose offsets mirror the checkpoint; "": none
	Start         Start
	Format        string // "json" (default) or "raw"
	MaxBatchBytes int    // default 16 MiB
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return c.Cluster.Files() }

// Named implements [kind.Connected].
func (c Declared) Named() (name, scheme string) { return c.Cluster.Named() }

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return c.Cluster.Hosts() }

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	c.Cluster.Canonical(t)
	t.Text("topics", strings.Join(c.Topics, ","))
	if c.Group != "" {
		t.Text("group", c.Group)
	}
	c.Start.canonical(t)
	t.Text("format", c.Format)
	t.Number("max_batch_bytes", int64(c.MaxBatchBytes))
}

func (s *Start) canonical(t *meaning.Tree) {
	switch s.At {
	case "timestamp":
		t.Branch("start").Text("timestamp", s.Time.UTC().Format(time.RFC3339Nano))
	case "offsets":
		b := t.Branch("start").Branch("offsets")
		for _, stream := range slices.Sorted(maps.Keys(s.Offsets)) {
			b.Number(stream, s.Offsets[stream])
		}
	default:
		t.Text("start", s.At)
	}
}

// Identity implements [spec.SourceConfig]. The brokers take no part, for addresses change, nor
// do the topics, which are in the positions; nor where to begin what has no position.
func (c Declared) Identity() string { return c.Format }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Partitioned(trait.Again) }

const maxTopics = 256

var (
	formats = decode.Words("json", "raw")
	starts  = decode.Words("earliest", "latest")

	fields = []decode.Field[Declared]{
		kafkanet.BrokersField(cluster),
		kafkanet.ConnectionField(cluster),
		{Name: "topic", Alone: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Topics = readTopics(d, v, false)
		}},
		{Name: "topics", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Topics = readTopics(d, v, true)
		}},
		{Name: "group", Also: []string{"group_id", "consumer_group"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.Group, _ = d.Text(v, "the name of a consumer group")
			}},
		{Name: "start", Also: []string{"offset", "auto_offset_reset"}, Read: readStart},
		{Name: "format", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, formats, &c.Format) }},
		{Name: "max_batch_bytes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1<<10, 1<<30, &c.MaxBatchBytes)
		}},
		kafkanet.TLSField(cluster),
		kafkanet.SASLField(cluster),
	}
	startFields = []decode.Field[Start]{
		{Name: "timestamp", Read: readTime},
		{Name: "offsets", Read: readOffsets},
	}

	//go:embed schema.json
	definitions string
)

func cluster(c *Declared) *kafkanet.Cluster { return &c.Cluster }

func schema() decode.Schema {
	own := decode.Define(definitions, decode.MappingOf("source_kafka", fields, decode.Choices{"format": formats}),
		decode.MappingOf("kafka_start", startFields, nil))
	return decode.NewSchema("Records of Kafka topics.", own, kafkanet.Definitions())
}

func defaults() Declared {
	return Declared{Start: Start{At: starts.Default()}, Format: formats.Default(), MaxBatchBytes: defaultBatchBytes}
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "source kafka", fields, c)
	if !ok {
		return
	}
	kafkanet.CheckConnection(d, got)
	topic, one := got["topic"]
	topics, many := got["topics"]
	switch {
	case one && many:
		second := decode.Later(topic, topics)
		d.Report(second.Name(), decode.CodeConflict, "",
			"topic and topics say the same thing in two ways; keep one of them")
	case !one && !many:
		d.Missing(v, "topic", "source kafka")
	case one:
		d.Follow(v.Path()+".topics", topic.Path(), "")
	}
	start, given := got["start"]
	for stream := range c.Start.Offsets {
		topic, _ := cutPartition(stream)
		if given && !slices.Contains(c.Topics, topic) {
			d.Report(start.Here(), decode.CodeBadValue, "",
				"the offset of %s is of no topic of this source; name one of its topics", decode.Quote(stream))
			return
		}
	}
}

// readTopics reads the name of a topic, or a list of them.
func readTopics(d *decode.Decoder, v decode.Value, many bool) (list []string) {
	items := []decode.Value{v}
	if many {
		const want = "a list of topics"
		if !d.List(v, want) {
			return nil
		}
		items = d.OneOrMore(v, maxTopics, want)
	}
	seen := map[string]bool{}
	for _, item := range items {
		name := kafkanet.ReadTopic(d, item)
		if seen[name] && name != "" {
			d.Report(item.Here(), decode.CodeDuplicateEntry, "", "%s is named twice; remove one", item.Shown())
			continue
		}
		seen[name] = true
		list = append(list, name)
	}
	if many {
		d.AsWritten(v)
	}
	return list
}

// readStart reads a word, or a mapping that says more.
func readStart(d *decode.Decoder, v decode.Value, c *Declared) {
	if !v.IsMapping() {
		d.Pick(v, starts, &c.Start.At)
		return
	}
	if name, ok := decode.One(d, v, "start", startFields, &c.Start); ok {
		c.Start.At = name.Key()
	}
}

func readTime(d *decode.Decoder, v decode.Value, s *Start) {
	const want = "a time such as 2026-11-01T00:00:00Z"
	text, ok := d.Text(v, want)
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text)) // t and z may be small
	if err != nil {
		d.Report(v.Here(), decode.CodeBadValue, "", "expected %s, found %s", want, v.Described())
		return
	}
	s.Time = at
}

func readOffsets(d *decode.Decoder, v decode.Value, s *Start) {
	if !d.Mapping(v, "a mapping from topic/partition to offsets") {
		return
	}
	s.Offsets = map[string]int64{}
	for _, p := range d.Pairs(v, false) {
		if _, ok := cutPartition(p.Key()); !ok {
			d.Report(p.Name(), decode.CodeBadName, "", "%s is no partition; write topic/number", decode.Quote(p.Key()))
			continue
		}
		if n, ok := d.Integer(p.Value, 0, math.MaxInt64); ok {
			s.Offsets[p.Key()] = n
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
