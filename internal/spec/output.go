package spec

import (
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/retry"
	"github.com/graphd/graphd/internal/spec/trait"
)

var (
	outputEmits    = decode.Words("each", "on_change")
	outputOnErrors = decode.Words("block", "dead_letter")
	deliveries     = decode.Words("direct", "outbox")
)

var outputFields = []decode.Field[outputDraft]{
	{Name: "from", Also: []string{"node", "source", "input"}, Need: true,
		Read: func(d *decoder, v value, o *outputDraft) {
			o.From, _ = d.Text(v, "the name of a node or accumulator, or reactor")
			o.FromPos = v.Here().Pos()
			o.at.from = v
		}},
	{Name: "sink", Also: []string{"to", "target", "destination"}, Need: true, Read: readSink},
	{Name: "emit", Read: func(d *decoder, v value, o *outputDraft) { d.Pick(v, outputEmits, &o.Emit) }},
	{Name: "where", Read: func(d *decoder, v value, o *outputDraft) { o.Where = d.Expr(v) }},
	{Name: "emit_null", Read: func(d *decoder, v value, o *outputDraft) { d.Bool(v, &o.EmitNull) }},
	{Name: "fresh", Also: []string{"freshness", "max_age", "sla"},
		Read: func(d *decoder, v value, o *outputDraft) { d.Duration(v, 1, &o.Fresh) }},
	{Name: "on_error", Read: func(d *decoder, v value, o *outputDraft) { d.Pick(v, outputOnErrors, &o.OnError) }},
	{Name: "delivery", Read: func(d *decoder, v value, o *outputDraft) {
		d.Pick(v, deliveries, &o.Delivery)
		o.at.delivery = v
	}},
	{Name: "key"},
	{Name: "retry", Read: func(d *decoder, v value, o *outputDraft) { retry.Read(d, v, &o.Retry) }},
	{Name: "timeout", Read: func(d *decoder, v value, o *outputDraft) { d.Duration(v, 1, &o.Timeout) }},
}

// outputDraft is an output that is being read.
type outputDraft struct {
	*Output
	at  *output
	all *draft
}

func readOutputs(d *decoder, v value, g *draft) {
	pairs := d.Names(v, "output")
	g.Outputs = make([]Output, 0, len(pairs))
	for _, p := range pairs {
		o := Output{
			Name: p.Key(), Pos: p.Name().Pos(),
			Emit: outputEmits.Default(), OnError: outputOnErrors.Default(),
			Retry: retry.Default(), Timeout: defaultCallTimeout,
		}
		at := output{value: p.Value}
		got, _ := decode.Object(d, p.Value, "an output", outputFields, &outputDraft{&o, &at, g})
		checkDelivery(d, &o, got)
		g.Outputs = append(g.Outputs, o)
		g.links.outputs = append(g.links.outputs, at)
	}
}

func readSink(d *decoder, v value, o *outputDraft) {
	if name, config, ok := readKind(d, v, "sink", o.all.kinds.Sinks); ok {
		o.Sink = Sink{Kind: name.Key(), Pos: name.Name().Pos(), Config: config}
	}
}

// Retry says how a delivery that failed is tried again.
type Retry = retry.Policy

// defaultCallTimeout bounds a try of a delivery to what is away.
const defaultCallTimeout = 10 * time.Second

// checkDelivery checks that what an output says of its delivery fits its sink.
func checkDelivery(d *decoder, o *Output, got decode.Given) {
	target, known := o.Sink.Target(), o.Sink.Config != nil
	if v, ok := got["timeout"]; ok && known && !target.Calls() {
		d.Report(v.Name(), decode.CodeConflict, "",
			"the sink %s calls nothing that could time out; remove timeout", o.Sink.Kind)
	}
	if v, ok := got["retry"]; ok && known && !target.Delivers() {
		d.Report(v.Name(), decode.CodeConflict, "",
			"the sink %s delivers nothing that could be tried again; remove retry", o.Sink.Kind)
	}
	if v, ok := got["retry"]; ok && o.Retry.Attempts > 0 && o.OnError != "dead_letter" {
		d.Report(v.Name(), decode.CodeConflict, "",
			"after so many attempts the value has to go somewhere; add on_error: dead_letter, or remove attempts")
	}
}

// checkOutbox refuses an outbox where there is nothing to deliver, or nothing to deliver it from.
func (d *draft) checkOutbox(g *Graph, o *Output, v output) {
	if o.Delivery != "outbox" {
		return
	}
	switch {
	case o.Sink.Config != nil && o.Sink.Target().Outbox() == trait.NoOutbox:
		d.Report(v.delivery.Here(), decode.CodeNoOutbox, "",
			"the sink %s takes what it is given and answers nothing, so there is nothing to deliver again; "+
				"leave delivery out", o.Sink.Kind)
	case g.Durability.Mode == "none":
		d.Report(v.delivery.Here(), decode.CodeNoOutbox, "",
			"an outbox is part of the graph's durable state, and durability is none; "+
				"choose checkpoint or journal, or leave delivery out")
	}
}

// FromReactor is what an output is from that puts out what each epoch takes of all inputs, where nothing has that name.
const FromReactor = "reactor"

// checkCuts refuses what has no meaning for an output that puts out every cut.
func (d *draft) checkCuts(o *Output, v output) {
	for field, given := range map[string]bool{
		"where": !o.Where.IsZero(), "emit": o.Emit != outputEmits.Default(), "emit_null": o.EmitNull,
	} {
		if at := v.Find([]string{field}); given {
			d.Report(at.Name(), decode.CodeConflict, "",
				"what is from the reactor is every cut as it was taken; remove %s, or send out a node instead", field)
		}
	}
}

// checkFollowers refuses an output to be followed whose values nothing keeps, or that a dead letter could take away.
func (d *draft) checkFollowers(g *Graph, o *Output) {
	switch {
	case !o.Sink.Target().Followers():
	case o.OnError == "dead_letter":
		d.ReportAt(o.Sink.Pos, decode.CodeConflict, "", "what is kept for followers is refused by nobody: a value "+
			"that one cannot use is a dead letter there; remove on_error")
	case g.Durability.Mode == "none":
		d.ReportAt(o.Sink.Pos, decode.CodeNoOutbox, "", "values for followers are part of the graph's durable state, "+
			"and durability is none; choose checkpoint or journal")
	}
}

// checkFeeds checks that a graph does not feed itself. What other graphs do is the
// engine's to see.
func (d *draft) checkFeeds() {
	report := func(at Pos, graph string, feeds bool) {
		if feeds && graph == d.Graph.Name && graph != "" {
			d.ReportAt(at, decode.CodeGraphCycle, "",
				"the graph %s feeds itself; graphs that feed each other form no cycle", decode.Quote(graph))
		}
	}
	for i := range d.Accumulators {
		s := &d.Accumulators[i].Source
		graph, _, feeds := s.Origin().Graph()
		report(s.Pos, graph, feeds)
		if s.Origin().Follows() && d.Durability.Mode == "none" {
			d.ReportAt(s.Pos, decode.CodeConflict, "",
				"the graph %s keeps its values until they are durable here, and durability is none; choose checkpoint "+
					"or journal, or read it with a source of kind graph", decode.Quote(graph))
		}
	}
	for i := range d.Outputs {
		s := &d.Outputs[i].Sink
		graph, _, feeds := s.Target().Graph()
		report(s.Pos, graph, feeds)
	}
}
