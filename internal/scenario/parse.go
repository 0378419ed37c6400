// Package scenario runs the tests of a declaration: NAME_test.yaml beside NAME.yaml. Each
// case drives the graph under virtual time, from a fresh start, through pushes, commands
// and advances of the clock, and compares what comes out with what is expected.
package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/node/webcall"
	"go.yaml.in/yaml/v3"
)

// Document is the tests of one graph.
type Document struct {
	File  string
	Graph string
	Cases []Case
}

// Case is one test.
type Case struct {
	Name  string
	Line  int
	Steps []Step
	// Lax lets the case pass that has lost something which no step expects: a dead letter, a
	// failed epoch or a late event.
	Lax bool
}

// Step is one thing done or expected. Exactly one of its parts is set.
type Step struct {
	Line    int
	Push    []Push
	Advance time.Duration
	Command *Command
	// Answers are what nodes that call out are answered from then on.
	Answers []Answer
	Expect  *Expect
}

// Answer is what a node is answered: a body with a status, or an error.
type Answer struct {
	Line   int
	Node   string
	Status int
	Body   []byte
	Error  string // a code, such as call_timeout; "" for none
}

// Push is events for one accumulator, as JSON.
type Push struct {
	Accumulator string
	Events      [][]byte
}

// Command is one of the reactor's commands.
type Command struct {
	Name  string // pause, resume, step, force_fire, fire_with
	Steps int
	Cache map[string]boundary.Value
	Aside bool // fire_with, replace: false
	// OnlyChanged is of force_fire: only outputs whose value ticked.
	OnlyChanged bool
	// Key is the key to fire in a keyed graph, or a list of its parts; absent when not given.
	Key boundary.Value
}

// Expect is what should have come out: of each output named, the values since it was last
// looked at; and how the graph is.
type Expect struct {
	Outputs []ExpectOutput
	Health  string
	// The counts are -1 when they are not looked at.
	Epochs, FailedEpochs, DeadLetters, Late int64
}

// ExpectOutput is the values expected of one output, in order.
type ExpectOutput struct {
	Name   string
	Values []boundary.Value
}

// parser collects mistakes while it reads.
type parser struct {
	file     string
	mistakes []error
	about    []*yaml.Node // what each is about
}

// Parse reads a test document. The error joins a *Mistake for everything wrong.
func Parse(data []byte, file string) (*Document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, unreadable(file, err)
	}
	p := &parser{file: file}
	d := &Document{File: file}
	if len(root.Content) != 1 {
		return nil, Whole(file, "the document is empty; it needs graph and cases")
	}
	if of := sizeOf(&root, map[*yaml.Node]size{}); of.values > maxValues || of.bytes > maxBytes+len(data) {
		return nil, Whole(file, fmt.Sprintf("with its aliases the document has more than %d values, or %d MiB: "+
			"write fewer, or several documents", maxValues, maxBytes>>20))
	}
	lax := false
	p.fields(root.Content[0], map[string]func(*yaml.Node){
		"graph":  func(n *yaml.Node) { d.Graph = n.Value },
		"strict": func(n *yaml.Node) { lax = p.lax(n) },
		"cases": func(n *yaml.Node) {
			for _, c := range p.list(n) {
				d.Cases = append(d.Cases, p.testCase(c))
			}
		},
	})
	for i := range d.Cases {
		d.Cases[i].Lax = d.Cases[i].Lax || lax
	}
	if len(d.Cases) == 0 && len(p.mistakes) == 0 {
		p.bad(root.Content[0], "there are no cases: a test that tests nothing cannot fail")
	}
	p.place(root.Content[0])
	return d, errors.Join(p.mistakes...)
}

// fields reads a mapping; each key has its reader.
func (p *parser) fields(n *yaml.Node, known map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.bad(n, "a mapping is expected here")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		read, ok := known[n.Content[i].Value]
		if !ok {
			p.bad(n.Content[i], "%q is not known here; known are %s", n.Content[i].Value,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			continue
		}
		read(n.Content[i+1])
	}
}

func (p *parser) list(n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		p.bad(n, "a list is expected here")
		return nil
	}
	return n.Content
}

func (p *parser) testCase(n *yaml.Node) Case {
	c := Case{Line: n.Line}
	p.fields(n, map[string]func(*yaml.Node){
		"name":   func(v *yaml.Node) { c.Name = v.Value },
		"strict": func(v *yaml.Node) { c.Lax = p.lax(v) },
		"steps": func(v *yaml.Node) {
			for _, s := range p.list(v) {
				c.Steps = append(c.Steps, p.step(s))
			}
		},
	})
	if c.Name == "" {
		p.bad(n, "the case has no name")
	}
	return c
}

// lax reads the field strict.
func (p *parser) lax(n *yaml.Node) bool {
	var strict bool
	if n.Decode(&strict) != nil {
		p.bad(n, "strict is true or false, not %q", n.Value)
	}
	return !strict
}

func (p *parser) step(n *yaml.Node) Step {
	s := Step{Line: n.Line}
	if n.Kind == yaml.MappingNode && len(n.Content) != 2 {
		p.bad(n, "a step is one of push, advance, command, answers and expect; several are steps of their own")
	}
	p.fields(n, map[string]func(*yaml.Node){
		"push":    func(v *yaml.Node) { s.Push = p.pushes(v) },
		"advance": func(v *yaml.Node) { s.Advance = p.duration(v) },
		"command": func(v *yaml.Node) { s.Command = p.command(v) },
		"answers": func(v *yaml.Node) { s.Answers = p.answers(v) },
		"expect":  func(v *yaml.Node) { s.Expect = p.expect(v) },
	})
	return s
}

func (p *parser) answers(n *yaml.Node) []Answer {
	var out []Answer
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.bad(n, "answers names nodes: answers: { NODE: { body: … } }")
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		a := Answer{Line: n.Content[i].Line, Node: n.Content[i].Value, Status: 200}
		p.fields(n.Content[i+1], map[string]func(*yaml.Node){
			"body": func(v *yaml.Node) { a.Body = p.value(v).AppendJSON(nil) },
			"status": func(v *yaml.Node) {
				if v.Decode(&a.Status) != nil || a.Status < 100 || a.Status > 599 {
					p.bad(v, "%q is no status such as 200 or 404", v.Value)
				}
			},
			"error": func(v *yaml.Node) {
				if a.Error = v.Value; !slices.Contains(webcall.Failures, a.Error) {
					p.bad(v, "error is one of %s, not %q; of an answer with another status write status",
						strings.Join(webcall.Failures, ", "), v.Value)
				}
			},
		})
		out = append(out, a)
	}
	return out
}

func (p *parser) duration(n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d <= 0 {
		p.bad(n, "%q is not a duration such as 250ms or 10s", n.Value)
	}
	return d
}

func (p *parser) pushes(n *yaml.Node) []Push {
	var out []Push
	if n.Kind != yaml.MappingNode {
		p.bad(n, "push names accumulators: push: { NAME: EVENT }")
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		push := Push{Accumulator: n.Content[i].Value}
		events := []*yaml.Node{n.Content[i+1]}
		if n.Content[i+1].Kind == yaml.SequenceNode {
			events = n.Content[i+1].Content // several events at one instant
		}
		for _, e := range events {
			push.Events = append(push.Events, p.value(e).AppendJSON(nil))
		}
		out = append(out, push)
	}
	return out
}

func (p *parser) value(n *yaml.Node) boundary.Value {
	var x any
	if err := n.Decode(&x); err != nil {
		p.bad(n, "this cannot be read as a value: %v", err)
		return boundary.Null()
	}
	v, err := boundary.FromAny(x)
	if err != nil {
		p.bad(n, "this cannot be used as a value: %v", err)
		return boundary.Null()
	}
	return v
}

func (p *parser) command(n *yaml.Node) *Command {
	c := &Command{Name: n.Value, Steps: 1}
	if n.Kind == yaml.MappingNode {
		p.fields(n, map[string]func(*yaml.Node){
			"step": func(v *yaml.Node) {
				c.Name = "step"
				if v.Decode(&c.Steps) != nil || c.Steps < 1 {
					p.bad(v, "step takes a number of epochs, at least 1")
				}
			},
			"fire_with": func(v *yaml.Node) {
				c.Name, c.Cache = "fire_with", map[string]boundary.Value{}
				for i := 0; i+1 < len(v.Content); i += 2 {
					c.Cache[v.Content[i].Value] = p.value(v.Content[i+1])
				}
			},
			"force_fire":   func(*yaml.Node) { c.Name = "force_fire" },
			"only_changed": func(v *yaml.Node) { c.OnlyChanged = v.Value == "true" },
			"replace":      func(v *yaml.Node) { c.Aside = v.Value == "false" },
			"key":          func(v *yaml.Node) { c.Key = p.value(v) },
		})
	}
	switch c.Name {
	case "pause", "resume", "step", "force_fire", "fire_with":
	default:
		p.bad(n, "the command %q is not one of pause, resume, step, force_fire and fire_with", c.Name)
	}
	return c
}

func (p *parser) expect(n *yaml.Node) *Expect {
	e := &Expect{Epochs: -1, FailedEpochs: -1, DeadLetters: -1, Late: -1}
	if n.Kind != yaml.MappingNode {
		p.bad(n, "expect names outputs, health, epochs, failed_epochs, dead_letters or late")
		return e
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		switch {
		case v.Kind == yaml.SequenceNode:
			o := ExpectOutput{Name: key}
			for _, x := range v.Content {
				o.Values = append(o.Values, p.value(x))
			}
			e.Outputs = append(e.Outputs, o)
		case key == "health":
			e.Health = v.Value
		case key == "epochs":
			p.count(v, &e.Epochs)
		case key == "failed_epochs":
			p.count(v, &e.FailedEpochs)
		case key == "dead_letters":
			p.count(v, &e.DeadLetters)
		case key == "late":
			p.count(v, &e.Late)
		default:
			p.bad(n.Content[i], "an output is expected as a list of values: %s: [VALUE, …]", key)
		}
	}
	return e
}

func (p *parser) count(n *yaml.Node, to *int64) {
	if n.Decode(to) != nil || *to < 0 {
		p.bad(n, "a number is expected, not %q", n.Value)
	}
}
