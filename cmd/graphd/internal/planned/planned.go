// Package planned shows the plan of a declaration to people: as tables, or as a chart.
package planned

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// Plan is what is shown of a plan's JSON.
type Plan struct {
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
	Rates []struct {
		Name          string   `json:"name"`
		Nodes         []string `json:"nodes"`
		Period        string   `json:"period"`
		OverrunPolicy string   `json:"overrun_policy"`
	} `json:"rates"`
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
		Fresh    string `json:"fresh"`
	} `json:"outputs"`
}

// Read reads a plan's JSON.
func Read(raw []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return &p, nil
}

// Tables is the plan for people.
func (p *Plan) Tables(t *terminal.Terminal) []*terminal.Table {
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
		if o.Fresh != "" {
			emits += ", fresh within " + o.Fresh
		}
		outputs.Row(o.Name, o.From, emits)
	}
	tables := []*terminal.Table{inputs, nodes}
	if len(p.Lanes) > 0 {
		tables = append(tables, p.lanes())
	}
	if len(p.Rates) > 0 {
		rates := terminal.NewTable("LANE", "NODES", "TICKS EVERY", "WHEN LATE")
		for _, r := range p.Rates {
			rates.Row(r.Name, terminal.List(r.Nodes), r.Period, r.OverrunPolicy)
		}
		tables = append(tables, rates)
	}
	if len(p.Loops) > 0 {
		tables = append(tables, p.loops())
	}
	return append(tables, outputs)
}

// lanes are the pools that nodes are executed in.
func (p *Plan) lanes() *terminal.Table {
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
func (p *Plan) loops() *terminal.Table {
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

// Mermaid is the plan as a Mermaid flow chart.
func (p *Plan) Mermaid() string {
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
func (p *Plan) id(name string) string {
	for _, in := range p.Inputs {
		if in.Name == name {
			return "in_" + name
		}
	}
	return "node_" + name
}
