package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// verb is one client command before it is a cobra command.
type verb struct {
	use   string // "fire GRAPH"
	short string
	long  string
	check cobra.PositionalArgs
	// run talks to the daemon. Its context ends after --timeout, unless the verb is open-ended.
	run       func(ctx context.Context, c *client.Client, args []string) error
	openEnded bool
	watch     bool // it can be asked again and again
	// words completes an argument; nil are the names of graphs for the first one.
	words names.Words
}

// client turns a verb into a command. An unknown name is answered with the nearest one.
func (a *Verbs) client(v verb) *cobra.Command {
	watch := new(bool)
	cmd := &cobra.Command{
		Use:   v.use,
		Short: v.short,
		Long:  v.long,
		Args:  terminal.Positional(v.check),

		DisableFlagsInUseLine: true,
		ValidArgsFunction:     a.complete(v.words),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.CheckFormat(); err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			if *watch {
				return a.again(cmd.Context(), func(ctx context.Context) error { return a.once(ctx, c, &v, args) })
			}
			return a.once(cmd.Context(), c, &v, args)
		},
	}
	if v.watch {
		cmd.Flags().BoolVarP(watch, "watch", "w", false,
			"ask again every second and show what has changed; Ctrl-C ends it")
	}
	return cmd
}

// Verb is a verb of another package, whose arguments are no names of graphs.
func (a *Verbs) Verb(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return a.client(verb{use: use, short: short, long: long, check: check, run: run, words: names.Nothing})
}

// GraphVerb is a verb of another package about a graph, which its first argument names.
func (a *Verbs) GraphVerb(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return a.client(verb{use: use, short: short, long: long, check: check, run: run})
}

// OpenVerb is [Verbs.Verb] without an end of its own.
func (a *Verbs) OpenVerb(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return a.client(verb{use: use, short: short, long: long, check: check, run: run, words: names.Nothing,
		openEnded: true})
}

// once carries a verb out.
func (a *Verbs) once(ctx context.Context, c *client.Client, v *verb, args []string) error {
	if !v.openEnded {
		var cancel context.CancelFunc
		ctx, cancel = a.deadline(ctx)
		defer cancel()
	}
	err := v.run(ctx, c, args)
	if p, ok := errors.AsType[*api.Problem](err); ok && len(args) > 0 {
		a.suggest(ctx, c, p, args)
	}
	return a.explain(ctx, err)
}

// suggest says which names there are, where one was unknown.
func (a *Verbs) suggest(ctx context.Context, c *client.Client, p *api.Problem, args []string) {
	names, given := p.Declared, args[len(args)-1]
	if p.Code == "graph_not_found" {
		graphs, err := c.Graphs(ctx)
		if err != nil {
			return // the suggestion is a courtesy; the refusal is the news
		}
		names, given = nil, args[0]
		for i := range graphs {
			names = append(names, graphs[i].Graph)
		}
	}
	if len(names) == 0 {
		return
	}
	hint := "there are " + terminal.Clip(strings.Join(names, ", "), 200)
	p.Detail = strings.TrimSuffix(p.Detail, "; 'graphd get' lists those there are")
	if near := terminal.Nearest(given, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	p.Detail += "; " + hint
}

// oneOf is a check that the argument at index i, when given, is one of words.
func oneOf(i int, words ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) <= i {
			return nil
		}
		for _, w := range words {
			if args[i] == w {
				return nil
			}
		}
		err := fmt.Errorf("%q is not one of %s", args[i], strings.Join(words, ", "))
		if near := terminal.Nearest(args[i], words); near != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, near)
		}
		return err
	}
}
