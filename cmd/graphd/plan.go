package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/graphd/graphd"
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

// plan is what is shown of a plan's JSON.
type plan struct {
	Graph  string   `json:"graph"`
	Guard  []string `json:"guard"`
	Inputs []struct {
		Name      string   `json:"name"`
		From      string   `json:"from"`
		Joins     []string `json:"joins"`
		Type      string   `json:"type"`
		Event     bool     `json:"event"`
		Triggers  bool     `json:"triggers"`
		Reads     []string `json:"reads"`
		Whole     bool     `json:"whole"`
		Conflated bool     `json:"conflated"`
		AsOf      bool     `json:"as_of_event"`
	} `json:"inputs"`
	Nodes []struct {
		Name   string   `json:"name"`
		Kind   string   `json:"kind"`
		Rank   int      `json:"rank"`
		Event  bool     `json:"event"`
		Type   string   `json:"type"`
		After  string   `json:"after"`
		Routes []string `json:"routes"`
	} `json:"nodes"`
	Lanes []struct {
		Name          string   `json:"name"`
		Nodes         []string `json:"nodes"`
		MaxThreads    int      `json:"max_threads"`
		QueueCapacity int      `json:"queue_capacity"`
		Overflow      string   `json:"overflow"`
		Overflows     bool     `json:"overflows"`
	} `json:"lanes"`
	Loops []struct {
		Name            string   `json:"name"`
		Nodes           []string `json:"nodes"`
		MaxIterations   int      `json:"max_iterations"`
		Until           bool     `json:"until"`
		OnNoConvergence string   `json:"on_no_convergence"`
	} `json:"loops"`
	Edges []struct {
		From  string `json:"from"`
		To    string `json:"to"`
		Kind  string `json:"kind"`
		Route string `json:"route"`

		Feedback bool `json:"feedback"`
	} `json:"edges"`
	Outputs []struct {
		Name     string `json:"name"`
		From     string `json:"from"`
		Emit     string `json:"emit"`
		Where    bool   `json:"where"`
		EmitNull bool   `json:"emit_null"`
	} `json:"outputs"`
}

func printPlan(t *terminal.Terminal, raw []byte, d *graphd.Declaration, format string) error {
	if format == "json" {
		_, err := fmt.Fprintf(t.Out, "%s\n", raw)
		return err
	}
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if format == "mermaid" {
		_, err := io.WriteString(t.Out, p.mermaid())
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
	for _, table := range p.tables(t) {
		if err := t.Section(table); err != nil {
			return err
		}
	}
	return nil
}

// tables is the plan for people.
func (p *plan) tables(t *terminal.Terminal) []*terminal.Table {
	inputs := terminal.NewTable("INPUT", "TRIGGERS", "VALUES ARE", "READS", "TYPE")
	for _, in := range p.Inputs {
		reads := terminal.List(in.Reads)
		if in.Whole {
			reads = "all of it"
		}
		values := kindOf(in.Event)
		if in.Conflated {
			values += ", may conflate"
		}
		if in.AsOf {
			values += " as of events"
		}
		name := in.Name
		if in.From != "" {
			name += " (from " + in.From + ")"
		}
		if len(in.Joins) > 0 {
			name += " (joins " + strings.Join(in.Joins, ", ") + ")"
		}
		inputs.Row(name, terminal.YesNo(in.Triggers), values, reads, t.Clip(in.Type, 60))
	}
	nodes := terminal.NewTable("NODE", "RANK", "KIND", "VALUES ARE", "AFTER", "DEPENDS ON", "TYPE").Numbers(1)
	for _, n := range p.Nodes {
		var on []string
		for _, e := range p.Edges {
			switch {
			case e.To == n.Name && e.Kind == "delay":
				on = append(on, e.From+" (delayed)")
			case e.To == n.Name && e.Kind == "until":
				on = append(on, e.From+" (until)")
			case e.To == n.Name && e.Feedback:
				on = append(on, e.From+" (iteration before)")
			case e.To == n.Name:
				on = append(on, e.From)
			}
		}
		nodes.Row(n.Name, terminal.Number(n.Rank), n.Kind, kindOf(n.Event), terminal.Or(n.After, "-"),
			terminal.List(on), t.Clip(n.Type, 60))
	}
	outputs := terminal.NewTable("OUTPUT", "FROM", "EMITS")
	for _, o := range p.Outputs {
		emits := o.Emit
		if o.Where {
			emits += ", where it holds"
		}
		if o.EmitNull {
			emits += ", null too"
		}
		outputs.Row(o.Name, o.From, emits)
	}
	tables := []*terminal.Table{inputs, nodes}
	if len(p.Lanes) > 0 {
		tables = append(tables, p.lanes())
	}
	if len(p.Loops) > 0 {
		tables = append(tables, p.loops())
	}
	return append(tables, outputs)
}

// lanes are the pools that nodes are executed in.
func (p *plan) lanes() *terminal.Table {
	lanes := terminal.NewTable("LANE", "NODES", "THREADS", "AT ONCE", "MORE").Numbers(2, 3)
	for _, l := range p.Lanes {
		more := "never"
		if l.Overflows || l.Overflow == "block" {
			more = l.Overflow
		}
		lanes.Row(l.Name, terminal.List(l.Nodes), terminal.Number(l.MaxThreads), terminal.Number(l.QueueCapacity), more)
	}
	return lanes
}

// loops are the nodes that run until they agree.
func (p *plan) loops() *terminal.Table {
	loops := terminal.NewTable("LOOP", "NODES", "AT MOST", "ENDS WHEN", "ELSE").Numbers(2)
	for _, l := range p.Loops {
		ends := "nothing changes"
		if l.Until {
			ends = "its condition holds"
		}
		loops.Row(l.Name, strings.Join(l.Nodes, " → "), terminal.Number(l.MaxIterations), ends, l.OnNoConvergence)
	}
	return loops
}

// kindOf says whether each value counts, or only the newest.
func kindOf(event bool) string {
	if event {
		return "events"
	}
	return "state"
}

// mermaid is the plan as a Mermaid flow chart.
func (p *plan) mermaid() string {
	var s strings.Builder
	s.WriteString("flowchart LR\n")
	for _, in := range p.Inputs {
		fmt.Fprintf(&s, "  in_%s([%s])\n", in.Name, in.Name)
	}
	for _, n := range p.Nodes {
		shape := "[%s]"
		if len(n.Routes) > 0 {
			shape = "{%s}"
		}
		fmt.Fprintf(&s, "  node_%s"+shape+"\n", n.Name, n.Name)
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(&s, "  out_%s[/%s/]\n", o.Name, o.Name)
	}
	for _, e := range p.Edges {
		arrow := "-->"
		switch {
		case e.Route != "":
			arrow = "-- " + e.Route + " -->"
		case e.Kind == "delay":
			arrow = "-. delayed .->"
		case e.Kind == "until":
			arrow = "-. until .->"
		case e.Feedback:
			arrow = "-. iteration before .->"
		}
		fmt.Fprintf(&s, "  %s %s %s\n", p.id(e.From), arrow, p.id(e.To))
	}
	for _, in := range p.Inputs {
		if in.From != "" {
			fmt.Fprintf(&s, "  %s ==> %s\n", p.id(in.From), p.id(in.Name))
		}
		for _, side := range in.Joins {
			fmt.Fprintf(&s, "  %s ==> %s\n", p.id(side), p.id(in.Name))
		}
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(&s, "  %s --> out_%s\n", p.id(o.From), o.Name)
	}
	return s.String()
}

// id is a name in the chart: inputs and nodes are told apart by their kind, so that no name
// is a word of the chart's own language.
func (p *plan) id(name string) string {
	for _, in := range p.Inputs {
		if in.Name == name {
			return "in_" + name
		}
	}
	return "node_" + name
}
