package accumulator

import (
	_ "embed"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// BatchKind describes the kind of accumulator that collects events.
func BatchKind() decode.Kind[spec.AccumulatorConfig] {
	about := decode.NewSchema("Collect events and hand them over as a list.",
		decode.Define(batchDefinitions, decode.MappingOf("batch", batchFields, nil)))
	return fold.NewKind(decode.NewKind(kindBatch, about, func() Batch { return Batch{} }, readBatch))
}

// Batch is the configuration of a batch. At least one rule is set.
type Batch struct {
	Size     int           // flush when this many events are in; 0: no rule
	Interval time.Duration // flush this long after the first event; 0: no rule
	Flush    string        // "epoch": flush after every epoch that is kept; "": no rule
}

// Canonical implements [spec.AccumulatorConfig].
func (c Batch) Canonical(t *meaning.Tree) {
	t.Number("size", int64(c.Size))
	t.Span("interval", c.Interval)
	if c.Flush != "" {
		t.Text("flush", c.Flush)
	}
}

// Identity implements [spec.AccumulatorConfig]. An open batch goes on under another interval.
func (c Batch) Identity() string { return identity(c.Size, 0) }

// Hands implements [spec.AccumulatorConfig].
func (c Batch) Hands() spec.Hands { return spec.NewEvents }

// Type implements [fold.Maker].
func (c Batch) Type(event expression.Type) expression.Type { return expression.ListOf(event) }

// New implements [fold.Maker].
func (c Batch) New(maxBytes int64) fold.Fold { return &batch{rule: c, maxBytes: maxBytes} }

// WithEpochs implements [fold.Maker].
func (c Batch) WithEpochs() bool { return c.Flush == "epoch" }

// maxKept bounds how many events a fold keeps in memory. It is far above what is sensible, and
// low enough that a slip of the finger is caught.
const maxKept = 1 << 24

var (
	flushes     = decode.Words("epoch")
	batchFields = []decode.Field[Batch]{
		{Name: "size", Read: func(d *decode.Decoder, v decode.Value, c *Batch) { d.Count(v, 1, maxKept, &c.Size) }},
		{Name: "interval", Read: func(d *decode.Decoder, v decode.Value, c *Batch) { d.Duration(v, 1, &c.Interval) }},
		{Name: "flush", Read: func(d *decode.Decoder, v decode.Value, c *Batch) { d.Pick(v, flushes, &c.Flush) }},
	}

	//go:embed batch.json
	batchDefinitions string
)

func readBatch(d *decode.Decoder, v decode.Value, c *Batch) {
	got, ok := decode.Object(d, v, "batch", batchFields, c)
	if ok && len(got) == 0 {
		d.Report(v.Whole(), decode.CodeNoFlushRule, "",
			"the batch would never be handed over; give size, interval or flush: epoch")
	}
}
