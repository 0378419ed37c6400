package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

func (a *Verbs) tailCmd() *cobra.Command {
	var o client.TailOptions
	var count int
	var lines bool
	cmd := a.client(verb{
		use: "tail [GRAPH]", short: "Follow what a graph does, or all graphs",
		long: `Follow what a graph does as it does it, or without a GRAPH what all of them do.
A lost connection is made again, and goes on behind the last frame; what the
daemon no longer has is a frame of its own, the gap. On a terminal a table shows
what each output said last and how often; with --lines, or in a pipe, every
frame is a line, with -o json of JSON, with -o yaml a document. Ctrl-C
ends it.`,
		check:     cobra.MaximumNArgs(1),
		openEnded: true,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			graph := ""
			if len(args) == 1 {
				graph = args[0]
			}
			if !a.Structured() && !lines && telemetry.IsTerminal(a.Out) {
				err := a.watch(ctx, c, graph, o, count)
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}
			return a.tail(ctx, c, graph, o, count)
		},
	})
	cmd.Flags().StringSliceVar(&o.Topics, "topics", []string{
		"outputs", "health",
	}, "what to follow: outputs, firings, health, state, summary")
	choices(cmd, "topics", "outputs", "firings", "health", "state", "summary")
	cmd.Flags().StringVar(&o.Since, "since", "",
		"go on behind this frame, INCARNATION:SEQ, where the daemon still has it")
	cmd.Flags().StringVar(&o.Where, "where", "", "only outputs and firings for which this expression is true")
	cmd.Flags().IntVar(&o.Sample, "sample", 0, "at most so many epochs of a graph a second; 0 is all")
	cmd.Flags().BoolVar(&lines, "lines", false, "a line for each frame on a terminal too, not a live table")
	cmd.Flags().IntVarP(&count, "count", "n", 0, "end after this many frames; 0 is never")
	return cmd
}

// errEnough ends a tail that has printed as many frames as were asked for.
var errEnough = errors.New("enough")

// tail prints frames until it has enough, the graph is gone, or it is interrupted; a lost
// connection is made again.
func (a *Verbs) tail(ctx context.Context, c *client.Client, graph string, options client.TailOptions,
	count int) error {
	n, list := 0, ""
	options.Lost = func(err error, wait time.Duration) { a.Say("%s", whyLost(err, wait)) }
	options.Back = func() { a.Say("connected again") }
	err := c.Tail(ctx, graph, options, func(f *api.Frame) error {
		if f.List != nil && !a.Structured() { // it comes behind each look, and says the same behind most
			was := list
			if list = a.frameText(f); list == was {
				return nil
			}
		}
		if err := a.frame(f, graph == ""); err != nil {
			return err
		}
		if n++; n == count {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// whyLost says why there is nothing to see.
func whyLost(err error, wait time.Duration) string {
	why := err.Error()
	if nobody, ok := errors.AsType[*client.Unreachable](err); ok {
		why = "no daemon answers at " + outbound.Shown(nobody.Base)
	} else if errors.Is(err, io.EOF) {
		why = "the daemon has closed it"
	}
	return fmt.Sprintf("the connection was lost (%s); trying again in %s", why, terminal.Short(wait))
}

func (a *Verbs) frame(f *api.Frame, named bool) error {
	if a.Format == terminal.FormatYAML {
		text, err := terminal.Encode(f, a.Format)
		if err != nil {
			return err
		}
		return a.Document(append([]byte("---\n"), text...))
	}
	if a.Format == terminal.FormatJSON {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("encode a frame: %w", err)
		}
		_, err := a.Out.Write(line.Bytes())
		return err
	}
	line := a.frameText(f)
	if f.LeftOut > 0 {
		line = fmt.Sprintf("%s  (behind %s left out)", line, terminal.Plural(f.LeftOut, "epoch"))
	}
	if f.Shard > 0 {
		line = fmt.Sprintf("shard %d  %s", f.Shard, line)
	}
	if named && f.Graph != "" {
		line = f.Graph + "  " + line
	}
	return a.Line("%s", line)
}

// frameText is a frame as a line for people.
func (a *Verbs) frameText(f *api.Frame) string {
	switch f.Type {
	case "output":
		key := ""
		if len(f.Key) > 0 && string(f.Key) != "null" {
			key = " " + a.Value(f.Key, listWidth)
		}
		return fmt.Sprintf("#%d%s  %s  %s", f.Epoch, key, f.Output, a.Value(f.Value, detailWidth))
	case "firing":
		if f.Firing == nil {
			return "firing"
		}
		r := f.Firing
		return fmt.Sprintf("#%d  %s  %s  %s  %s", r.Epoch, result(r), r.Cause,
			terminal.Short(time.Duration(r.DurationUS)*time.Microsecond), a.outputsText(r))
	case "health":
		health := "health " + f.Health
		if f.Paused != nil && *f.Paused {
			health += ", paused"
		}
		return strings.TrimSuffix(health+", "+describe.Reason(f.Reason), ", -")
	case "state":
		if f.State == nil {
			return "state"
		}
		return fmt.Sprintf("state as of #%d, %s held", f.State.Epoch, terminal.Plural(len(f.State.Cache), "input"))
	case "gap":
		if f.Seq == 0 && f.To == 0 { // of all graphs, those of a daemon that was lost, say
			return "gap: something may have been missed"
		}
		return fmt.Sprintf("gap: %s missed (%d to %d)", terminal.Plural(f.To-f.From+1, "frame"), f.From, f.To)
	}
	return describe.Standing(f)
}
