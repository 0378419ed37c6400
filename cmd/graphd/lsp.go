package main

import (
	"errors"
	"log/slog"

	"github.com/graphd/graphd/cmd/graphd/internal/lsp"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func lspCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor that shows and completes declarations",
		Long: `Serve one editor over standard input and output, by the Language Server Protocol. The
editor starts it; docs/editor.md says how. It checks what graphd validate and graphd
lint check, as it is typed, and reads what they read: the files that a declaration
includes or names, and the environment.`,
		Args:                  terminal.Positional(cobra.NoArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			if t.IsScreen(t.Out) {
				return terminal.Usage(cmd, errors.New("an editor starts graphd lsp and speaks to it; docs/editor.md "+
					"says how to set yours up"))
			}
			return lsp.Serve(cmd.Context(), lsp.Config{In: t.In, Out: t.Out,
				Log: slog.New(slog.NewTextHandler(t.Err, nil)), Version: buildVersion().String()})
		},
	}
}
