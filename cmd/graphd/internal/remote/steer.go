package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

func (a *Verbs) fireCmd() *cobra.Command {
	var with, key string
	var aside, onlyChanged bool
	cmd := a.client(verb{
		use: "fire GRAPH", short: "Fire a graph now",
		long: `Fire a graph now, whatever its criteria, guard, rate limit or pause say, on what
its inputs hold. Every output puts out its current value, with --only-changed
only those whose value has changed. With --with FILE (YAML or JSON: a value for
each accumulator) those values become the inputs' state first, an accumulator
that is left out has none then, and what changes is put out; with --no-replace
they are only laid over the state for this one epoch, and nothing else changes.`,
		check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			req, err := a.fireRequest(with, key, aside)
			if req.OnlyChanged = onlyChanged; onlyChanged && with != "" {
				return terminal.Exit(terminal.ExitUsage,
					errors.New("--only-changed does not go with --with FILE, which puts out what has changed"))
			}
			if err != nil {
				return err
			}
			r, err := c.Fire(ctx, args[0], req)
			if err != nil {
				return err
			}
			if err := a.Print(&r, func() error { return a.fired(&r, onlyChanged || with != "") }); err != nil {
				return err
			}
			if !r.OK {
				return terminal.ErrSaid
			}
			return nil
		},
	})
	cmd.Flags().StringVar(&with, "with", "", "fire with the values in this file; - is standard input")
	cmd.Flags().BoolVar(&aside, "no-replace", false, "with --with: leave the graph's state as it is")
	cmd.Flags().BoolVar(&onlyChanged, "only-changed", false, "put out only values that have changed")
	cmd.Flags().StringVar(&key, "key", "", "the key to fire, JSON or plain text")
	return cmd
}

func (a *Verbs) fireRequest(with, key string, aside bool) (api.FireRequest, error) {
	req := api.FireRequest{Mode: "force", Key: keyJSON(key)}
	if with == "" {
		if aside {
			return req, terminal.Exit(terminal.ExitUsage, errors.New("--no-replace goes with --with FILE"))
		}
		return req, nil
	}
	req.Mode = "with"
	if aside {
		req.Replace = new(false)
	}
	doc, err := a.ReadFile(with, maxDocument)
	if err != nil {
		return req, err
	}
	if json.Unmarshal(doc, &req.Cache) == nil && len(req.Cache) > 0 {
		return req, nil // JSON is passed on as it is, to the digit
	}
	var values map[string]any
	if err := yaml.Unmarshal(doc, &values); err != nil || len(values) == 0 {
		return req, terminal.Exit(terminal.ExitFormat, fmt.Errorf(
			`%s: it must hold a value for each accumulator to set, such as {"quotes": {"bid": 1}}`, inputName(with)))
	}
	req.Cache = make(map[string]json.RawMessage, len(values))
	for name, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return req, terminal.Exit(terminal.ExitFormat, fmt.Errorf("%s: the value of %s has no form in JSON: %w",
				with, name, err))
		}
		req.Cache[name] = raw
	}
	return req, nil
}

// keyJSON takes a key as JSON, or as the text it is.
func keyJSON(key string) json.RawMessage {
	if key == "" {
		return nil
	}
	if json.Valid([]byte(key)) {
		return json.RawMessage(key)
	}
	raw, err := json.Marshal(key)
	if err != nil {
		return nil // a string always has a form in JSON
	}
	return raw
}

func (a *Verbs) fired(r *api.FireResult, onlyChanged bool) error {
	if !r.OK {
		text := "no reason given"
		if r.Error != nil {
			text = *r.Error
		}
		return a.Line("epoch %d FAILED: %s", r.Epoch, text)
	}
	if len(r.Outputs) == 0 {
		why := "no output was due: what they come from has no value, or their conditions kept it back"
		if onlyChanged {
			why = "no output was due: nothing has changed"
		}
		return a.Line("epoch %d ok, cause %s, 0 outputs: %s", r.Epoch, r.Cause, why)
	}
	if err := a.Line("epoch %d ok, cause %s, %s", r.Epoch, r.Cause,
		terminal.Plural(len(r.Outputs), "output")); err != nil {
		return err
	}
	t := terminal.NewTable("OUTPUT", "VALUE")
	for _, name := range slices.Sorted(maps.Keys(r.Outputs)) {
		t.Row(name, a.Value(r.Outputs[name], detailWidth))
	}
	return a.Section(t)
}

// command is a verb that changes a graph and answers with its new summary.
func (a *Verbs) command(use, short string, check cobra.PositionalArgs, do func(ctx context.Context, c *client.Client,
	args []string) (api.GraphSummary, error)) *cobra.Command {
	w := names.Graphs
	if strings.Contains(use, "ACCUMULATOR") {
		w = names.Parts(names.Accumulators)
	}
	return a.client(verb{
		use: use, short: short, check: check, words: w,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			g, err := do(ctx, c, args)
			if err != nil {
				return err
			}
			return a.printGraph(&g)
		},
	})
}

func (a *Verbs) pauseCmd() *cobra.Command {
	return a.command("pause GRAPH", "Stop firing; inputs go on collecting", cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			return c.Pause(ctx, args[0])
		})
}

func (a *Verbs) resumeCmd() *cobra.Command {
	return a.command("resume GRAPH", "Fire again after a pause", cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			return c.Resume(ctx, args[0])
		})
}

func (a *Verbs) stepCmd() *cobra.Command {
	return a.command("step GRAPH [N]", "Fire the next epochs of a paused graph", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			n := 1
			if len(args) == 2 {
				var err error
				if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
					return api.GraphSummary{},
						terminal.Exit(terminal.ExitUsage, fmt.Errorf("%q is not a number of epochs", args[1]))
				}
			}
			return c.Step(ctx, args[0], n)
		})
}

func (a *Verbs) drainCmd() *cobra.Command {
	return a.client(verb{
		use: "drain GRAPH", short: "Fire until nothing is left to fire now, flush the sinks, take a checkpoint",
		long: `Fire until nothing is left to fire now, deliver what was put out, and take a
checkpoint. What waits for a timer (rate_limit, debounce, every, max_wait) is not
waited for; it is said when that is due. What is collected in batches and windows
stays there.`,
		check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			g, err := c.Drain(ctx, args[0])
			if err != nil {
				return err
			}
			if g.DueAt != nil {
				a.Say("graphd: what waits for a timer is due at %s", g.DueAt.Format(time.RFC3339Nano))
			}
			return a.printGraph(&g)
		},
	})
}

func (a *Verbs) restartCmd() *cobra.Command {
	return a.command("restart GRAPH [ACCUMULATOR]",
		"Restart a graph or one of its accumulators, also one that was given up", cobra.RangeArgs(1, 2),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			accumulator := ""
			if len(args) == 2 {
				accumulator = args[1]
			}
			return c.Restart(ctx, args[0], accumulator)
		})
}

func (a *Verbs) skipLostCmd() *cobra.Command {
	return a.client(verb{
		use: "skip-lost GRAPH ACCUMULATOR", short: "Let an accumulator go on behind a gap in its source",
		check: cobra.ExactArgs(2), words: names.Parts(names.Accumulators),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			result, err := c.SkipLost(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return a.Print(&result, func() error {
				if len(result.Gaps) == 0 {
					return a.Line("nothing is missing any more; it goes on where it was")
				}
				return a.Table(gapTable(result.Gaps))
			})
		},
	})
}

// gapTable shows what is left out, and where it goes on.
func gapTable(gaps []api.Gap) *terminal.Table {
	t := terminal.NewTable("STREAM", "FROM", "TO", "EVENTS", "REASON").Numbers(3)
	for i := range gaps {
		g := &gaps[i]
		to, events := "nowhere", "unknown"
		if g.To != nil {
			to = *g.To
		}
		if g.Events != nil {
			events = terminal.Number(*g.Events)
		}
		t.Row(g.Stream, g.From, to, events, g.Reason)
	}
	return t
}

// checkpointed is the answer to a checkpoint.
type checkpointed struct {
	Epoch int64 `json:"checkpoint_epoch"`
}

func (a *Verbs) checkpointCmd() *cobra.Command {
	return a.client(verb{
		use: "checkpoint GRAPH", short: "Take a checkpoint and wait until it is durable", check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			epoch, err := c.Checkpoint(ctx, args[0])
			if err != nil {
				return err
			}
			return a.Print(checkpointed{epoch}, func() error { return a.Line("durable as of epoch %d", epoch) })
		},
	})
}
