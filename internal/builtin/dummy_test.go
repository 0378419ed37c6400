package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// A kind that only this file knows: everything of it is here, as it would be in its folder.

func countdownKind() builtin.Source {
	open := func(c countdown, in kind.Input) (accumulator.Source, error) { return &countdownSource{c, in}, nil }
	check := func(c countdown, in kind.Input) spec.Diagnostics {
		if c.Label != "" && in.Vars.Field(c.Label).IsAbsent() {
			return in.Mistake("no_label", "there is no var "+c.Label)
		}
		return nil
	}
	return kind.NewSource(decode.NewKind("countdown", countdownSchema(), countdownDefaults, readCountdown), check, open)
}

type countdown struct {
	From, Step int
	Label      string // the var that events carry
	Loud       bool
}

func countdownDefaults() countdown { return countdown{Step: 1} }

func (c countdown) Canonical(t *meaning.Tree) {
	t.Number("from", int64(c.From))
	t.Number("step", int64(c.Step))
	t.Text("label", c.Label)
	t.Flag("loud", c.Loud)
}

func (c countdown) Identity() string     { return fmt.Sprintf("%d/%d", c.From, c.Step) }
func (c countdown) Origin() trait.Origin { return trait.Made(trait.Again) }

var countdownFields = []decode.Field[countdown]{
	{Name: "from", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *countdown) {
		d.Count(v, 1, math.MaxInt32, &c.From)
	}},
	{Name: "step", Read: func(d *decode.Decoder, v decode.Value, c *countdown) {
		d.Count(v, 1, math.MaxInt32, &c.Step)
	}},
	{Name: "label", Read: func(d *decode.Decoder, v decode.Value, c *countdown) {
		c.Label, _ = d.Text(v, "the name of a var")
	}},
	{Name: "loud", Read: func(d *decode.Decoder, v decode.Value, c *countdown) { d.Bool(v, &c.Loud) }},
}

func countdownSchema() decode.Schema {
	return decode.NewSchema("Numbers down to one.", decode.Define(`{
  "source_countdown": { "type": "object", "properties": { "from": { "type": "integer" } } }
}`, decode.MappingOf("source_countdown", countdownFields, nil)))
}

func readCountdown(d *decode.Decoder, v decode.Value, c *countdown) {
	decode.Object(d, v, "source countdown", countdownFields, c)
}

type countdownSource struct {
	c  countdown
	in kind.Input
}

func (s *countdownSource) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	done := int64(0)
	if len(from) > 0 {
		done = from[0].Offset
	}
	for n := s.c.From - int(done)*s.c.Step; n > 0; n -= s.c.Step {
		done++
		raw := fmt.Sprintf(`{"n":%d,"label":%s}`, n, s.in.Vars.Field(s.c.Label).AppendJSON(nil))
		ev := boundary.Event{Raw: []byte(raw), Pos: boundary.Position{Offset: done}}
		if err := out.Emit(ctx, []boundary.Event{ev}); err != nil {
			return nil // the context is done
		}
	}
	return nil
}

// lines hands over what a sink writes.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

const countdownGraph = `graph: launch
vars: { name: apollo }
accumulators:
  clock: { source: { countdown: { from: 3, label: name } }, strategy: sequential }
nodes:
  said: { expr: 'clock.label + " " + string(clock.n)' }
outputs:
  out: { from: said, sink: { stdout: {} } }
`

// TestKindIsItsFolderAndOneLine: a new kind is decoded, described in the JSON Schema, hashed,
// compared, checked and run, and all that knows of it beside its own code is the list. The
// field MoreSources is that one line.
func TestKindIsItsFolderAndOneLine(t *testing.T) {
	t.Parallel()
	out := make(lines, 3) // as many as there are
	kinds := &builtin.Kinds{Stdout: stdout.NewOutput(out), MoreSources: []builtin.Source{countdownKind()}}
	one := parsed(t, kinds, countdownGraph)

	t.Run("decode", func(t *testing.T) {
		want := countdown{From: 3, Step: 1, Label: "name"}
		if got := one.Spec.Accumulators[0].Source; got.Kind != "countdown" || got.Config != want {
			t.Errorf("got %+v", got)
		}
		for bad, want := range map[string]string{
			"from: 3, lable: x": `4:44: unknown_field: source countdown has no field "lable"; ` +
				`remove it or correct its name (did you mean label?)`,
			"step: 2":              "4:22: missing_field: source countdown needs the field from; add it",
			"from: 0":              "4:41: out_of_range: 0 is out of range; give a number between 1 and 2147483647",
			"from: 3, label: else": "4:22: no_label: there is no var else",
		} {
			_, diags := kinds.Parse([]byte(strings.Replace(countdownGraph, "from: 3, label: name", bad, 1)), "x")
			if len(diags) != 1 || diags[0].String() != "x:"+want {
				t.Errorf("%s: got %v, want %s", bad, diags, want)
			}
		}
	})
	t.Run("schema", func(t *testing.T) {
		var schema struct {
			Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
		}
		if err := json.Unmarshal(kinds.Schema(), &schema); err != nil {
			t.Fatal(err)
		}
		source, own := schema.Defs["source"], schema.Defs["source_countdown"]
		if source.Properties["countdown"] == nil || own.Properties["from"] == nil {
			t.Error("the schema does not have the kind")
		}
	})
	t.Run("hash, difference and identity", func(t *testing.T) {
		everyField(t, spec.SourceConfig(countdown{}), func(g *spec.Graph, c spec.SourceConfig) {
			g.Accumulators[0].Source = spec.Source{Kind: "countdown", Config: c}
		})
		loud := parsed(t, kinds, strings.Replace(countdownGraph, "from: 3,", "from: 3, loud: true,", 1))
		if diff := spec.Diff(one.Spec, loud.Spec); len(diff) != 1 ||
			diff[0] != "changed accumulators.clock.source.countdown.loud: false → true" {
			t.Errorf("got %q", diff)
		}
		if _, dropped := compile.Split(compile.Changes(one, loud)); len(dropped) > 0 {
			t.Errorf("a louder countdown is another one: %q", dropped)
		}
		longer := parsed(t, kinds, strings.Replace(countdownGraph, "from: 3,", "from: 4,", 1))
		if _, dropped := compile.Split(compile.Changes(one, longer)); len(dropped) != 1 {
			t.Errorf("a longer countdown is the same: %q", dropped)
		}
	})
	t.Run("run", func(t *testing.T) { runCountdown(t, kinds, out) })
}

func parsed(t *testing.T, kinds *builtin.Kinds, text string) *compile.Unit {
	t.Helper()
	u, diags := kinds.Parse([]byte(text), "")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return u
}

func runCountdown(t *testing.T, kinds *builtin.Kinds, out lines) {
	t.Helper()
	e := engine.New(engine.Config{Store: memory.New(), Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	ref := api.Ref{Tenant: "default", Name: "launch"}
	if _, err := e.Apply(t.Context(), ref, []byte(countdownGraph), api.Change{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for text := ""; strings.Count(text, "apollo") < 3; { // several values may be one write
		select {
		case more := <-out:
			text += more
		case <-ctx.Done():
			t.Fatalf("got %q only", text)
		}
	}
	g, err := e.Graph(t.Context(), ref)
	if err != nil || len(g.Accumulators) != 1 || g.Accumulators[0].Source != "countdown" ||
		!strings.Contains(fmt.Sprint(g.Outputs), "stdout") {
		t.Errorf("got %+v, %v", g, err)
	}
}
