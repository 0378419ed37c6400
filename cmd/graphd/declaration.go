package main

import (
	"encoding/json"
	"errors"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/compile"
	"github.com/spf13/cobra"
)

func validateCmd(t *terminal.Terminal) *cobra.Command {
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check declarations and list every mistake",
		Long: `Check declarations and list every mistake. Of a valid one it is said, on standard error,
when nothing would ever come of it; graphd lint says more. A folder stands for every
declaration in and below it.`,
		Args:                  terminal.Positional(cobra.ArbitraryArgs),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			paths, err := terminal.Declarations(given(args), true)
			if err != nil {
				return err
			}
			vars, err := set()
			if err != nil {
				return err
			}
			return validate(t, paths, vars)
		},
	}
	given, set = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input"), terminal.Vars(cmd)
	return cmd
}

// validate checks every file; the mistakes are the data.
func validate(t *terminal.Terminal, paths []string, vars map[string]string) error {
	return readAll(t, paths, vars, func(path string, d *graphd.Declaration) graphd.Diagnostics {
		for _, m := range d.Lint() {
			if compile.Futile(m.Code) {
				t.Say("%s", m)
			}
		}
		t.Say("%s: graph %s is valid", path, d.Name())
		return nil
	})
}

// readAll reads every file and prints its mistakes, or else what there is to remark. It ends as the worst of them.
func readAll(t *terminal.Terminal, paths []string, vars map[string]string,
	remarks func(path string, d *graphd.Declaration) graphd.Diagnostics) error {
	found := graphd.Diagnostics{}
	var worst error
	for _, path := range paths {
		d, err := graphd.ReadDeclarationWith(path, vars)
		var mistakes graphd.Diagnostics
		switch {
		case errors.As(err, &mistakes):
			found, worst = append(found, mistakes...), terminal.Exit(terminal.ExitFormat, terminal.ErrSaid)
		case err != nil:
			return local(terminal.CannotSet(path, err))
		default:
			found = append(found, remarks(path, d)...)
		}
	}
	if err := t.Print(found, func() error {
		for _, m := range found {
			if err := t.Line("%s", m); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if worst == nil && len(found) > 0 {
		return terminal.ErrSaid
	}
	return worst
}

// broken says the mistakes of a declaration, where editors find them, and how to exit.
func broken(t *terminal.Terminal, path string, err error) error {
	var found graphd.Diagnostics
	if !errors.As(err, &found) {
		return local(terminal.CannotSet(path, err))
	}
	err = errors.New(terminal.Plural(len(found), "mistake") + " in the declaration")
	if t.Structured() {
		return &terminal.ExitError{Code: terminal.ExitFormat, Err: err, Word: "invalid_declaration", Mistakes: found}
	}
	for _, m := range found {
		t.Say("%s", m)
	}
	return terminal.Exit(terminal.ExitFormat, err)
}

func schemaCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:                   "schema",
		Short:                 "Print the JSON Schema of declarations, for editors",
		Args:                  terminal.Positional(cobra.NoArgs),
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			text := graphd.Schema()
			if t.Format == terminal.FormatYAML {
				var err error
				if text, err = terminal.Encode(json.RawMessage(text), t.Format); err != nil {
					return err
				}
			}
			_, err := t.Out.Write(text)
			return err
		},
	}
}
