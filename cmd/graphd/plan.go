package main

import (
	"fmt"
	"io"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/planned"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

func planCmd(t *terminal.Terminal) *cobra.Command {
	var format string
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "plan FILE [--format text|json|mermaid]",
		Short: "Show how a declaration will run",
		Long: `Show what a declaration compiles to: inputs, nodes in the order in which they run,
what each depends on, and outputs. The JSON is byte-identical for declarations
of the same meaning. A folder stands for every declaration in and below it: a plan
follows the other.`,
		Args:                  terminal.Positional(cobra.ArbitraryArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("format") && t.Format != terminal.FormatTable && !t.Wide() {
				format = t.Format // -o json means the same
			}
			if format != "text" && format != "json" && format != "mermaid" {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("--format %s: it must be text, json or mermaid",
					format))
			}
			paths, err := terminal.Declarations(given(args), true)
			if err != nil {
				return err
			}
			vars, err := set()
			if err != nil {
				return err
			}
			return printPlans(t, paths, vars, format)
		},
	}
	given, set = terminal.Files(cmd, "declaration, folder of declarations, or - for standard input"), terminal.Vars(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "text, json or mermaid")
	return cmd
}

// printPlans shows the plan of every declaration.
func printPlans(t *terminal.Terminal, paths []string, vars map[string]string, format string) error {
	for i, path := range paths {
		d, err := graphd.ReadDeclarationWith(path, vars)
		if err != nil {
			return broken(t, path, err)
		}
		raw, err := d.PlanJSON()
		if err != nil {
			return err
		}
		if i > 0 && format == "text" {
			if err := t.Line(""); err != nil {
				return err
			}
		}
		if err := printPlan(t, raw, d, format); err != nil {
			return err
		}
	}
	return nil
}

func printPlan(t *terminal.Terminal, raw []byte, d *graphd.Declaration, format string) error {
	if format == "json" {
		_, err := fmt.Fprintf(t.Out, "%s\n", raw)
		return err
	}
	p, err := planned.Read(raw)
	if err != nil {
		return err
	}
	if format == "mermaid" {
		_, err := io.WriteString(t.Out, p.Mermaid())
		return err
	}
	if err := t.Line("graph %s, by %s", p.Graph, d.ClockBy()); err != nil {
		return err
	}
	if by := d.ShardsBy(); by != "" {
		if err := t.Line("%s", by); err != nil {
			return err
		}
	}
	for _, table := range p.Tables(t) {
		if err := t.Section(table); err != nil {
			return err
		}
	}
	return nil
}
