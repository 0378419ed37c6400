package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/webcall"
)

// setAnswers says what nodes are answered from then on.
func (p *player) setAnswers(list []Answer) {
	callers := p.unit.Plan.Callers()
	for _, a := range list {
		if !slices.ContainsFunc(callers, func(c graph.Caller) bool { return c.Name == a.Node }) {
			names := make([]string, len(callers))
			for i, c := range callers {
				names[i] = c.Name
			}
			there := "no node calls out"
			if len(names) > 0 {
				there = "those that call out are " + strings.Join(names, ", ")
			}
			p.fail(a.Line, "the graph has no node %q that could be answered; %s", a.Node, there)
			continue
		}
		answer := kind.Answer{Status: a.Status, Body: a.Body}
		if a.Error != "" {
			answer = kind.Answer{Code: a.Error, Text: "as the test says"}
		}
		p.answers[a.Node] = answer
	}
}

// answer answers what a node calls for.
func (p *player) answer(node int, _ *kind.Request, _ time.Time) (a kind.Answer, inTime bool) {
	name := p.unit.Plan.Nodes()[node].Name
	if a, ok := p.answers[name]; ok {
		return a, true
	}
	return kind.Answer{Code: webcall.CodeNoAnswer, Text: "the test does not say what " + name +
		" is answered; add a step before: answers: { " + name + ": { body: … } }"}, true
}
