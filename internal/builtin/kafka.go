package builtin

import (
	"errors"
	"slices"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/sink"
	sinkkafka "github.com/graphd/graphd/internal/sink/kafka"
	sourcekafka "github.com/graphd/graphd/internal/source/kafka"
	"github.com/graphd/graphd/internal/spec"
)

// cluster is how to reach the brokers of a declaration, or else those of the daemon.
func (k *Kinds) cluster(g *spec.Graph, c *spec.KafkaCluster) kafkanet.Config {
	cfg := kafkanet.Config{Brokers: c.Brokers}
	if len(cfg.Brokers) == 0 {
		cfg.Brokers = slices.Clone(k.KafkaBrokers)
	}
	if k.Guard != nil {
		cfg.Dial = k.Guard.DialContext
	}
	path := func(p string) string {
		if p == "" {
			return ""
		}
		return Resolve(g.File, p)
	}
	if t := c.TLS; t != nil {
		cfg.TLS = &kafkanet.TLS{CAFile: path(t.CAFile), CertFile: path(t.CertFile), KeyFile: path(t.KeyFile), ServerName: t.ServerName}
	}
	if s := c.SASL; s != nil {
		cfg.SASL = &kafkanet.SASL{Mechanism: s.Mechanism, Username: s.Username, Password: s.Password}
	}
	return cfg
}

// errNoBrokers is of a declaration and a daemon that both name none.
var errNoBrokers = errors.New("no Kafka brokers are known: name them in the declaration, brokers: host:port, or start the daemon with --kafka-brokers")

func (k *Kinds) kafkaSource(u *compile.Unit, a *spec.Accumulator) (accumulator.Source, error) {
	s := &a.Source.Kafka
	cfg := sourcekafka.Config{
		Config: k.cluster(u.Spec, &s.KafkaCluster), Topics: s.Topics, Group: s.Group, Format: s.Format,
		Start:         sourcekafka.Start{At: s.Start.At, Time: s.Start.Time, Offsets: s.Start.Offsets},
		MaxEventBytes: k.MaxEventBytes, MaxBatchBytes: s.MaxBatchBytes,
	}
	if len(cfg.Brokers) == 0 {
		return nil, errNoBrokers
	}
	return sourcekafka.New(cfg)
}

func (k *Kinds) kafkaSink(u *compile.Unit, o *spec.Output) (sink.Sink, error) {
	s := &o.Sink.Kafka
	cfg := sinkkafka.Config{Config: k.cluster(u.Spec, &s.KafkaCluster), Topic: s.Topic, Vars: u.Vars, Compression: s.Compression, Timeout: o.Timeout}
	for _, h := range s.Headers {
		cfg.Headers = append(cfg.Headers, sinkkafka.Header(h))
	}
	if len(cfg.Brokers) == 0 {
		return nil, errNoBrokers
	}
	if !s.Key.IsZero() {
		key, err := expression.Compile(s.Key.Text, sinkkafka.Scope(u.VarsType))
		if err != nil {
			return nil, err
		}
		cfg.Key = key
	}
	return sinkkafka.New(cfg)
}

// checkKafkaKeys compiles the key expressions of Kafka's sinks.
func checkKafkaKeys(g *spec.Graph, vars expression.Type) (diags spec.Diagnostics) {
	for i := range g.Outputs {
		key := g.Outputs[i].Sink.Kafka.Key
		if key.IsZero() {
			continue
		}
		_, err := expression.Compile(key.Text, sinkkafka.Scope(vars))
		if err == nil {
			continue
		}
		d := spec.Diagnostic{File: g.File, Line: key.Pos.Line, Column: key.Pos.Column, Path: key.Pos.Path, Code: expression.CodeSyntax, Text: err.Error()}
		if mistake := new(expression.Error); errors.As(err, &mistake) {
			d.Line, d.Column = key.At(mistake.Offset)
			d.Code, d.Text, d.Suggest = mistake.Code, mistake.Text, mistake.Suggest
		}
		diags = append(diags, d)
	}
	return diags
}
