package remote

import (
	"context"

	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/spf13/cobra"
)

// complete asks the daemon, when there is one and it answers soon, for the names that an argument can have.
func (a *Verbs) complete(w names.Words) cobra.CompletionFunc {
	if w == nil {
		w = names.Graphs
	}
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c, err := a.dial()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil { // as of a completion that the shell asks for
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, a.Soon)
		defer cancel()
		found, files := w(ctx, c, args)
		if files {
			return found, cobra.ShellCompDirectiveDefault
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// choices completes a flag with a few words.
func choices(cmd *cobra.Command, flag string, of ...string) {
	// It fails for a flag that is not there, which the first test of completion would tell.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}
