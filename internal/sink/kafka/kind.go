package kafka

import (
	_ "embed"

	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink.
func Kind(daemon kafkanet.Daemon) kind.Sink[sink.Sink] {
	open := func(c Declared, out kind.Output) (sink.Sink, error) { return c.open(daemon, out) }
	declared := decode.NewKind("kafka", schema(), defaults, readDeclared)
	return kind.NewSink(declared, Declared.check, kind.NothingOutside, open)
}

// Declared is the sink as a declaration describes it.
type Declared struct {
	kafkanet.Cluster
	Topic       string
	Key         spec.Expr // over sink.Scope
	Headers     []decode.Header
	Compression string // "none" (default), "gzip", "snappy", "lz4", "zstd"
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return c.Cluster.Files() }

// Named implements [kind.Connected].
func (c Declared) Named() (name, scheme string) { return c.Cluster.Named() }

// Hosts implements [kind.Calling].
func (c Declared) Hosts() []string { return c.Cluster.Hosts() }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	c.Cluster.Canonical(t)
	t.Text("topic", c.Topic)
	t.Expr("key", c.Key.Text)
	decode.AddHeaders(t, c.Headers)
	t.Text("compression", c.Compression)
}

// Target implements [spec.SinkConfig].
func (c Declared) Target() trait.Target {
	return trait.Called(trait.MayOutbox,
		"a record whose acknowledgement was lost is sent again, and may be in the topic twice with the same firing id")
}

// check compiles the key expression.
func (c Declared) check(out kind.Output) spec.Diagnostics { return sink.CheckOption(c.Key, out) }

func (c Declared) open(daemon kafkanet.Daemon, out kind.Output) (sink.Sink, error) {
	net, err := c.Connect(daemon, &out.Place)
	if err != nil {
		return nil, err
	}
	cfg := Config{Config: net, Topic: c.Topic, Compression: c.Compression, Timeout: out.Timeout}
	for _, h := range c.Headers {
		cfg.Headers = append(cfg.Headers, Header(h))
	}
	if cfg.Key, err = sink.CompileOption(c.Key, out.Vars); err != nil {
		return nil, err
	}
	return New(cfg)
}

var (
	compressions = decode.Choice{Words: Compressions()}

	fields = []decode.Field[Declared]{
		kafkanet.BrokersField(cluster),
		kafkanet.ConnectionField(cluster),
		{Name: "topic", Alone: true, Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Topic = kafkanet.ReadTopic(d, v)
		}},
		{Name: "key", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Expr(v) }},
		{Name: "headers", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Headers = d.RecordHeaders(v)
		}},
		{Name: "compression", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Pick(v, compressions, &c.Compression)
		}},
		kafkanet.TLSField(cluster),
		kafkanet.SASLField(cluster),
	}

	//go:embed schema.json
	definitions string
)

func cluster(c *Declared) *kafkanet.Cluster { return &c.Cluster }

func schema() decode.Schema {
	own := decode.MappingOf("sink_kafka", fields, decode.Choices{"compression": compressions})
	return decode.NewSchema("A Kafka topic.", decode.Define(definitions, own), kafkanet.Definitions())
}

func defaults() Declared { return Declared{Compression: compressions.Default()} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, _ := decode.Object(d, v, "sink kafka", fields, c)
	kafkanet.CheckConnection(d, got)
}
