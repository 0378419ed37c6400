package whys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// mostShown bounds what a table of what was refused shows; -o json has all of it.
const mostShown = 20

func whyNot(t *terminal.Terminal, ask Verb) *cobra.Command {
	var q api.WhyNotQuery
	cmd := ask("why-not GRAPH", "Say why nothing comes",
		`Say why nothing comes, of the graph, of --key, or to --output-name: what stands in
the way now, why the newest epochs gave nothing, and which events and cuts came to
nothing. Of these a sample is kept; all of them are counted.`, cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			w, err := c.WhyNot(ctx, args[0], q)
			if err != nil {
				return err
			}
			return t.Print(&w, func() error { return tellNot(t, &w) })
		})
	cmd.Flags().StringVar(&q.Key, "key", "", "only this key, JSON or plain text")
	cmd.Flags().StringVar(&q.Output, "output-name", "", "only what matters to this output")
	cmd.Flags().StringVar(&q.Since, "since", "", "leave out what was before: a time, or a duration back from now (90m)")
	return cmd
}

func tellNot(t *terminal.Terminal, w *api.WhyNot) error {
	if err := t.Line("%s", w.Sentence); err != nil {
		return err
	}
	now := terminal.NewTable("NOW", "WHY", "UNTIL", "WHAT TO DO")
	for i := range w.Now {
		b := &w.Now[i]
		until := "-"
		if b.Until != nil {
			until = terminal.Moment(*b.Until)
		}
		now.Row(b.Code, b.Detail, until, terminal.Or(b.Do, "-"))
	}
	epochs := terminal.NewTable("EPOCHS", "NEWEST", "SILENT", "REASON", "WHY").Numbers(0, 1)
	for i := range w.Epochs {
		b := &w.Epochs[i]
		newest := terminal.Number(b.Epoch)
		if b.Shard > 0 {
			newest = fmt.Sprintf("%d/%d", b.Shard, b.Epoch)
		}
		epochs.Row(terminal.Number(b.Epochs), newest, b.Output, b.Code, b.Detail)
	}
	refused := terminal.NewTable("REFUSED", "AT", "KEY", "POSITION", "WHY", "VALUE")
	for i := range w.Refused[:min(len(w.Refused), mostShown)] {
		b := &w.Refused[i]
		at, read := "-", "-"
		if b.At != nil {
			at = terminal.Moment(*b.At)
		}
		if len(b.Values) > 0 {
			read = values(t, b.Values)
		}
		refused.Row(b.Code, at, value(t, b.Key), terminal.Or(b.Position, "-"), b.Detail, read)
	}
	for _, table := range []*terminal.Table{now, epochs, refused} {
		if err := t.Section(table); err != nil {
			return err
		}
	}
	if len(w.Counts) == 0 {
		return nil
	}
	var counts []string
	for _, code := range slices.Sorted(maps.Keys(w.Counts)) {
		counts = append(counts, fmt.Sprintf("%s %d", code, w.Counts[code]))
	}
	t.Say("counted so far: %s", strings.Join(counts, ", "))
	return nil
}
