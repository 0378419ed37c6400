package graphd

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/accumulator/gofold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// Check folds events twice, of one key: once as they come, and once with a restart after each, made anew
// by New and resumed from what a checkpoint would hold. An error says at which event the two
// differ: then the fold remembers something outside of its state, changes what
// it was given, or goes by a clock or by chance. It is for tests; events that the fold refuses are
// welcome among them.
func (a *Accumulator) Check(options map[string]any, events ...any) error {
	var straight, restarted checked
	for i, event := range events {
		v, err := toValue(event)
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		raw := v.AppendJSON(nil)
		if i == 0 {
			if straight.core, err = a.core(options); err != nil {
				return err
			}
		}
		if restarted.core, err = a.core(options); err != nil {
			return err
		}
		if m := restarted.mark; m.State != nil {
			if err := restarted.core.Restore(m.State.AppendBinary(nil), m.Counters, m.Positions); err != nil {
				return fmt.Errorf("restart before event %d: %w", i, err)
			}
		}
		want, got := straight.fold(raw), restarted.fold(raw)
		if got != want {
			return fmt.Errorf("event %d: %s; after a restart: %s", i, want, got)
		}
		if !bytes.Equal(straight.mark.State.AppendBinary(nil), restarted.mark.State.AppendBinary(nil)) {
			return fmt.Errorf("event %d: after a restart the state becomes another", i)
		}
	}
	return nil
}

// core makes an accumulator of the fold.
func (a *Accumulator) core(options map[string]any) (*accumulator.Core, error) {
	p, ds := accumulator.Compile(&spec.Accumulator{Name: "checked", Kind: "go", Config: gofold.Declared{
		Name: "checked", Options: options, MaxKeys: folding.DefaultMaxKeys, MaxBytes: folding.DefaultMaxBytes,
	}.Of(a.registered())}, accumulator.CompileOptions{})
	if err := ds.Err(); err != nil {
		return nil, err
	}
	p.Project(nil, true)
	return accumulator.NewCore(p, accumulator.Limits{}), nil
}

// checked is one of the two ways through the events.
type checked struct {
	core   *accumulator.Core
	mark   accumulator.Mark
	handed int64 // events that what was handed over accounts for
}

// fold folds an event, and says what becomes of it.
func (c *checked) fold(raw []byte) string {
	at := time.Unix(c.mark.Counters.Received, 0).UTC()
	ev := boundary.Event{
		Raw: slices.Clone(raw), At: at, Pos: boundary.Position{Stream: goStream, Offset: c.mark.Counters.Received + 1},
	}
	outcome := c.core.Add(at, &ev, true)
	var h accumulator.Handoff
	c.core.Drain(&h)
	c.mark = h.Mark
	text := "it is " + outcome.Status.String()
	if outcome.Code != "" {
		text += " (" + outcome.Code + ": " + outcome.Detail + ")"
	}
	for i := range h.Boundaries {
		text += ", hands over " + h.Boundaries[i].Value.String()
		c.handed += h.Boundaries[i].Events
	}
	n := h.Mark.Counters
	if sum := n.Filtered + n.Rejected + n.DeadLettered + n.Open + c.handed; sum != n.Received {
		text += fmt.Sprintf(", and of %d events %d are accounted for", n.Received, sum)
	}
	return text
}
