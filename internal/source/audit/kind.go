package audit

import (
	"cmp"
	_ "embed"
	"errors"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	trail "github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source, over the log of the daemon's audit; nil where there is none.
func Kind(log Log) kind.Source[accumulator.Source] {
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		if log == nil {
			return nil, errors.New("this program keeps no audit; a daemon does, graphd serve")
		}
		return New(Config{Log: log, Every: c.Every, Latest: c.Start == latest,
			Chain: cmp.Or(c.Chain, in.Tenant, checkpoint.DefaultTenant)}), nil
	}
	declared := decode.NewKind("audit", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it: entries of the audit.
type Declared struct {
	Chain string        // a tenant, or [trail.Daemon]; "" is the graph's own tenant
	Start string        // earliest or latest
	Every time.Duration // from one look to the next, default 1s
}

// Chains implements [kind.Auditing].
func (c Declared) Chains() string { return c.Chain }

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("chain", c.Chain)
	t.Text("start", c.Start)
	t.Span("every", c.Every)
}

// Identity implements [spec.SourceConfig]. A position is the number of an entry in its chain.
func (c Declared) Identity() string { return c.Chain }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Made(trait.Again) }

const (
	latest       = "latest"
	defaultEvery = time.Second
	// leastEvery bounds how often a graph asks the store.
	leastEvery = 100 * time.Millisecond
)

var (
	starts = decode.Words("earliest", latest)
	fields = []decode.Field[Declared]{
		{Name: "chain", Also: []string{"tenant"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Chain, _ = d.Text(v, "a tenant's name, or "+trail.Daemon)
		}},
		{Name: "start", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, starts, &c.Start) }},
		{Name: "every", Also: []string{"interval", "period"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, leastEvery, &c.Every) }},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Entries of the audit: who has changed what, and who was denied what.",
		decode.Define(definitions, decode.MappingOf("source_audit", fields, decode.Choices{"start": starts})))
}

func defaults() Declared { return Declared{Start: starts.Default(), Every: defaultEvery} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "source audit", fields, c)
}
