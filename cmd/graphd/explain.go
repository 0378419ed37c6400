package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/handbook"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func explainCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "explain WORD",
		Short: "Say what a field, a kind, a code or a function means",
		Long: `Say what the documentation says about a word: a diagnostic's code (unknown_field), a
field of the declaration with its path (reactor.rate_limit), a kind of source or
sink (file), a health reason (crash_loop), a setting of the daemon, the column of a
table ("FULL IN"), a function or a metric.`,
		Args:                  terminal.Positional(cobra.ExactArgs(1)),
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     completeTerms,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			found, err := handbook.Find(strings.TrimPrefix(args[0], "graphd_"))
			if err != nil {
				return err
			}
			if len(found) == 0 { // a heading, as it is typed
				if found, err = handbook.Find(strings.ToUpper(args[0])); err != nil {
					return err
				}
			}
			if len(found) == 0 {
				return unexplained(args[0])
			}
			return t.Print(found, func() error {
				for i, e := range found {
					if i > 0 {
						if err := t.Line(""); err != nil {
							return err
						}
					}
					if err := t.Line("%s (%s)", e.Term, e.Where); err != nil {
						return err
					}
					for line := range strings.Lines(e.Text) {
						if err := t.Line("  %s", strings.TrimSuffix(line, "\n")); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

// completeTerms are the words of the documentation that begin with what was typed.
func completeTerms(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	terms, err := handbook.Terms()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp // a person who presses Tab is told nothing
	}
	terms = slices.DeleteFunc(terms, func(t string) bool { return !strings.HasPrefix(t, begun) })
	slices.Sort(terms)
	return slices.Compact(terms), cobra.ShellCompDirectiveNoFileComp
}

// unexplained names the nearest word there is.
func unexplained(word string) error {
	err := fmt.Errorf("nothing is written about %q", word)
	terms, readErr := handbook.Terms()
	if readErr != nil {
		return readErr
	}
	near := terminal.Nearest(word, terms)
	if at := strings.LastIndexByte(word, '.') + 1; near == "" && at > 0 { // a path stands under its last part
		if near = terminal.Nearest(word[at:], terms); near != "" {
			near = word[:at] + near
		}
	}
	if near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return terminal.Exit(terminal.ExitNotFound, err)
}
