package spec

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Sources.

var sourceKinds = []field[Source]{
	{name: "websocket", read: readNothing[Source]("source websocket")},
	{name: "http", read: readNothing[Source]("source http")},
	{name: "file", read: readFileSource},
	{name: "generator", read: readGenerator},
	{name: "kafka", read: readKafkaSource},
	{name: "poll", read: readPoll},
	{name: "websocket_client", read: readWebSocketSource},
	{name: "graph", read: readGraphSource},
	{name: "go", read: readGoSource},
}

func readSource(d *decoder, v value, a *Accumulator) {
	if kind, ok := readOne(d, v, "source", sourceKinds, &a.Source); ok {
		a.Source.Kind = kind.key.Value
		a.Source.Pos = d.pos(kind.key, kind.at)
	}
}

// readNothing reads a kind that takes no fields.
func readNothing[T any](where string) func(*decoder, value, *T) {
	return func(d *decoder, v value, _ *T) {
		readObject(d, v, where, []field[struct{}]{}, &struct{}{})
	}
}

var (
	sourceFormats = choice{built: []string{"ndjson", "csv"}}
	onTruncates   = choice{built: []string{"halt", "restart"}}
)

// formatByExtension is the format of a file whose declaration does not say.
var formatByExtension = map[string]string{
	".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv",
}

var fileSourceFields = []field[FileSource]{
	{name: "path", need: true, read: func(d *decoder, v value, f *FileSource) { f.Path, _ = d.text(v, "the path of a file") }},
	{name: "format", read: func(d *decoder, v value, f *FileSource) { d.pick(v, sourceFormats, &f.Format) }},
	{name: "follow", read: func(d *decoder, v value, f *FileSource) { d.boolean(v, &f.Follow) }},
	{name: "on_truncate", read: func(d *decoder, v value, f *FileSource) { d.pick(v, onTruncates, &f.OnTruncate) }},
}

func readFileSource(d *decoder, v value, s *Source) {
	s.File.OnTruncate = onTruncates.built[0]
	got, ok := readObject(d, v, "source file", fileSourceFields, &s.File)
	if _, said := got["format"]; !ok || said || s.File.Path == "" {
		return
	}
	path := got["path"]
	d.follow(v.at.String()+".format", path.at.String(), "")
	s.File.Format = formatByExtension[strings.ToLower(filepath.Ext(s.File.Path))]
	if s.File.Format == "" {
		d.report(path.node, path.at, CodeMissingField, "", "the name %s does not tell what the file holds; add format: ndjson or format: csv", document.Quote(path.node.Value))
	}
}

var generatorFields = []field[GeneratorSource]{
	{name: "every", read: func(d *decoder, v value, g *GeneratorSource) { d.duration(v, 1, &g.Every) }},
	{name: "rate", read: readRate},
	{name: "count", read: func(d *decoder, v value, g *GeneratorSource) { g.Count, _ = d.integer(v, 1, math.MaxInt64) }},
	{name: "expr", need: true, read: func(d *decoder, v value, g *GeneratorSource) { g.Expr = d.expr(v) }},
	{name: "seed", read: func(d *decoder, v value, g *GeneratorSource) {
		g.Seed, _ = d.integer(v, math.MinInt64, math.MaxInt64)
	}},
}

func readGenerator(d *decoder, v value, s *Source) {
	got, ok := readObject(d, v, "source generator", generatorFields, &s.Generator)
	if !ok {
		return
	}
	every, hasEvery := got["every"]
	rate, hasRate := got["rate"]
	_, hasCount := got["count"]
	switch {
	case hasEvery && hasRate:
		second := rate
		if compareNodes(rate.key, every.key) < 0 {
			second = every
		}
		d.report(second.key, second.at, CodeConflict, "", "every and rate say the same thing in two ways; keep one of them")
	case !hasEvery && !hasRate && !hasCount:
		d.report(v.anchor(), v.at, CodeMissingField, "", "the generator would make events without pause or end; give every, rate or count")
	}
}

// readRate reads events per second and keeps them as the time between two.
func readRate(d *decoder, v value, g *GeneratorSource) {
	const want = "a number of events per second"
	s, ok := d.scalar(v, want, false)
	if !ok {
		return
	}
	if s.tag != "!!int" && s.tag != "!!float" {
		d.wrongType(v, want)
		return
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s.text, "_", ""), 64)
	// A billion a second is one per nanosecond; below one a day it is surely a slip.
	if !(err == nil && n >= 1e-5 && n <= 1e9) {
		d.report(v.node, v.at, CodeOutOfRange, "", "%s is out of range; give events per second between 0.00001 and 1000000000", document.Subject(v.node))
		return
	}
	g.Every = time.Duration(math.Round(float64(time.Second) / n))
}

// Outputs and sinks.

var (
	outputEmits    = choice{built: []string{"each", "on_change"}}
	outputOnErrors = choice{built: []string{"block", "dead_letter"}}
	deliveries     = choice{built: []string{"direct", "outbox"}}
	sinkFormats    = choice{built: []string{"ndjson"}}
)

var outputFields = []field[Output]{
	{name: "from", need: true, read: func(d *decoder, v value, o *Output) {
		o.From, _ = d.text(v, "the name of a node or accumulator")
		o.FromPos = d.pos(v.node, v.at)
		d.links.outputs[len(d.links.outputs)-1].from = v
	}},
	{name: "sink", need: true, read: readSink},
	{name: "emit", read: func(d *decoder, v value, o *Output) { d.pick(v, outputEmits, &o.Emit) }},
	{name: "on_error", read: func(d *decoder, v value, o *Output) { d.pick(v, outputOnErrors, &o.OnError) }},
	{name: "delivery", read: func(d *decoder, v value, o *Output) {
		d.pick(v, deliveries, &o.Delivery)
		d.links.outputs[len(d.links.outputs)-1].delivery = v
	}},
	{name: "key"},
	{name: "retry", read: readRetry},
	{name: "timeout", read: func(d *decoder, v value, o *Output) { d.duration(v, 1, &o.Timeout) }},
}

func readOutputs(d *decoder, v value, g *Graph) {
	pairs := d.names(v, "output")
	g.Outputs = make([]Output, 0, len(pairs))
	for _, p := range pairs {
		o := Output{
			Name: p.key.Value, Pos: d.pos(p.key, p.at),
			Emit: outputEmits.built[0], OnError: outputOnErrors.built[0],
			Retry: defaultRetry(), Timeout: defaultCallTimeout,
		}
		d.links.outputs = append(d.links.outputs, output{value: p.value})
		got, _ := readObject(d, p.value, "an output", outputFields, &o)
		d.checkDelivery(&o, got)
		g.Outputs = append(g.Outputs, o)
	}
}

var sinkKinds = []field[Sink]{
	{name: "stdout", read: readNothing[Sink]("sink stdout")},
	{name: "file", read: readFileSink},
	{name: "websocket", read: readNothing[Sink]("sink websocket")},
	{name: "drop", read: readNothing[Sink]("sink drop")},
	{name: "kafka", read: readKafkaSink},
	{name: "postgres", read: readPostgresSink},
	{name: "http", read: readHTTPSink},
	{name: "graph", read: readGraphSink},
	{name: "go", read: readGoSink},
}

func readSink(d *decoder, v value, o *Output) {
	if kind, ok := readOne(d, v, "sink", sinkKinds, &o.Sink); ok {
		o.Sink.Kind = kind.key.Value
		o.Sink.Pos = d.pos(kind.key, kind.at)
	}
}

var fileSinkFields = []field[FileSink]{
	{name: "path", need: true, read: func(d *decoder, v value, f *FileSink) { f.Path, _ = d.text(v, "the path of a file") }},
	{name: "format", read: func(d *decoder, v value, f *FileSink) { d.pick(v, sinkFormats, &f.Format) }},
}

func readFileSink(d *decoder, v value, s *Sink) {
	s.File.Format = sinkFormats.built[0]
	readObject(d, v, "sink file", fileSinkFields, &s.File)
}
