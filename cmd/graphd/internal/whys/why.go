// Package whys is what the command line has for reasons: the verbs why and why-not, the keys that they ask of, and the
// causes of epochs in words.
package whys

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// valueWidth is how much of a value a line shows; -o json shows all of it.
const valueWidth = 80

// Verb makes a command that asks the daemon about a graph.
type Verb func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

// Commands are the verbs why, why-not and keys.
func Commands(t *terminal.Terminal, ask Verb) []*cobra.Command {
	return []*cobra.Command{why(t, ask), whyNot(t, ask), keys(t, ask)}
}

// Cause puts the cause of an epoch into words.
func Cause(cause string) string {
	switch cause {
	case "criteria":
		return "criteria: the inputs called for it"
	case "force":
		return "force: an operator asked for it"
	case "with":
		return "with: an operator handed in values"
	case "tick":
		return "tick: its cadence was due"
	case "max_wait":
		return "max_wait: it had waited for all inputs as long as it may"
	}
	return cause
}

func why(t *terminal.Terminal, ask Verb) *cobra.Command {
	var key string
	cmd := ask("why GRAPH [EPOCH|FIRING_ID]", "Say why an epoch ran, and what became of what it gave",
		`Say why an epoch ran: what made it run, what it read, why nodes and outputs came to
nothing new, and what has become of the values that it gave. Without an EPOCH it is
the newest, of --key where one is given. A FIRING_ID is that of a value, as its sink
has it. Shards count their own epochs: 2/17 is epoch 17 of shard 2.`, cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *client.Client, args []string) error {
			q := api.WhyQuery{Key: key}
			if len(args) == 2 {
				if key != "" {
					return terminal.Exit(terminal.ExitUsage, fmt.Errorf("give %q or --key: an epoch has its key",
						args[1]))
				}
				if err := which(args[1], &q); err != nil {
					return terminal.Exit(terminal.ExitUsage, err)
				}
			}
			w, err := c.Why(ctx, args[0], q)
			if err != nil {
				return err
			}
			return t.Print(&w, func() error { return tell(t, &w) })
		})
	cmd.Flags().StringVar(&key, "key", "", "the newest epoch of this key, JSON or plain text")
	return cmd
}

// which reads 17, 2/17 of shard 2, or a firing id.
func which(text string, q *api.WhyQuery) error {
	if strings.Count(text, "-") == 4 && len(text) == 36 {
		q.FiringID = text
		return nil
	}
	of, number, dealt := strings.Cut(text, "/")
	if !dealt {
		number = text
	}
	epoch, err := strconv.ParseInt(number, 10, 64)
	if err == nil && dealt {
		var shard int
		shard, err = strconv.Atoi(of)
		q.Shard = &shard
	}
	if q.Epoch = &epoch; err != nil || epoch < 1 || q.Shard != nil && *q.Shard < 0 {
		return fmt.Errorf("%q is neither the number of an epoch nor a firing id", text)
	}
	return nil
}

func tell(t *terminal.Terminal, w *api.Why) error {
	if err := t.Line("%s", w.Sentence); err != nil {
		return err
	}
	head := terminal.NewTable("", "")
	head.Row("at", terminal.Moment(w.At)+", "+t.Ago(&w.At))
	if r := w.Revision; r != nil {
		by := terminal.Or(r.By.Token, terminal.Or(r.By.Agent, r.Origin))
		if r.By.Host != "" {
			by += " from " + r.By.Host
		}
		head.Row("revision", fmt.Sprintf("%d, applied %s by %s", r.Revision, terminal.Moment(r.At), by))
	}
	if len(w.Degraded) > 0 {
		head.Row("degraded by", terminal.List(w.Degraded))
	}
	if w.Guard != nil {
		head.Row("guard", t.Clip(w.Guard.Expression, valueWidth))
		head.Row("it read", values(t, w.Guard.Reads))
	}
	inputs := terminal.NewTable("SAW", "WHICH WAS", "EVENTS", "POSITION", "VALUE").Numbers(2)
	for i := range w.Inputs {
		in := &w.Inputs[i]
		inputs.Row(in.Name, was(in), terminal.Number(in.Events), t.Clip(terminal.Or(in.Position, "-"), 40),
			value(t, in.Value))
	}
	nodes := terminal.NewTable("NODE", "DID", "VALUE", "BECAUSE").Color(1, terminal.HealthTone)
	for i := range w.Nodes {
		n := &w.Nodes[i]
		nodes.Row(n.Name, n.Status, value(t, n.Value), because(n.Because))
	}
	outputs := terminal.NewTable("OUTPUT", "IS", "FIRING ID", "VALUE", "WHERE")
	for i := range w.Outputs {
		o := &w.Outputs[i]
		outputs.Row(o.Name, o.Fate, terminal.Or(o.FiringID, "-"), value(t, o.Value), o.Detail)
	}
	for _, table := range []*terminal.Table{head, inputs, nodes, outputs} {
		if err := t.Section(table); err != nil {
			return err
		}
	}
	return nil
}

// was says what an input was to an epoch.
func was(in *api.WhyInput) string {
	if in.State != "cached" || in.SinceEpoch == 0 {
		return in.State
	}
	text := fmt.Sprintf("cached since epoch %d", in.SinceEpoch)
	if in.AgeSeconds != nil {
		text += ", " + terminal.Short(time.Duration(*in.AgeSeconds*float64(time.Second)))
	}
	return text
}

func because(b *api.Because) string {
	if b == nil {
		return "-"
	}
	return b.Detail
}

func value(t *terminal.Terminal, raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "-"
	}
	return t.Value(raw, valueWidth)
}

func values(t *terminal.Terminal, all map[string]json.RawMessage) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+" "+t.Value(all[name], valueWidth))
	}
	return strings.Join(parts, ", ")
}
