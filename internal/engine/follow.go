package engine

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/spec"
)

// fits refuses a declaration of graph g that follows outputs which are not what it reads, and one whose outputs are not
// any more what graphs read that follow. A graph that is not there, or does not compile, is no reason: the other one
// waits for it, and it is held against the other when it comes.
func (e *Engine) fits(g api.Ref, u *compile.Unit, sees func(graph string) bool) error {
	var diags spec.Diagnostics
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		graph, output, _ := a.Source.Origin().Graph()
		if !a.Source.Origin().Follows() {
			continue
		}
		m, err := e.graph(api.Ref{Tenant: g.Tenant, Name: graph})
		if err != nil || m.Unit() == nil {
			continue
		}
		why, misfits := misfit(m.Unit(), output, u, a.Name)
		if why != "" {
			at := a.Source.Pos
			diags = append(diags, spec.Diagnostic{File: u.Spec.File, Line: at.Line, Column: at.Column, Path: at.Path,
				Code: compile.CodeContract, Text: fmt.Sprintf("%s cannot follow output %s of graph %s: %s", a.Name,
					output, graph, why)})
		}
		diags = append(diags, misfits...)
	}
	if len(diags) > 0 {
		return api.Invalid(diags)
	}
	var broken []string
	for _, f := range e.feeds.Followers(g) {
		m, err := e.graph(f.By.Graph)
		if err != nil || m.Unit() == nil {
			continue
		}
		why, misfits := misfit(u, f.Output, m.Unit(), f.By.Accumulator)
		if len(misfits) > 0 {
			why = misfits[0].Text
		}
		if name := f.By.Graph.Name; why != "" && sees != nil && !sees(name) {
			broken = append(broken, "a graph that follows could read it no more")
		} else if why != "" {
			broken = append(broken, fmt.Sprintf("%s (accumulator %s) could follow output %s no more: %s", name,
				f.By.Accumulator, f.Output, why))
		}
	}
	if len(broken) > 0 {
		return &api.Error{Status: http.StatusConflict, Code: api.CodeFollowed, Detail: "graphs that follow read what " +
			"this declaration takes away: " + strings.Join(broken, "; ") + "; change these first"}
	}
	return nil
}

// misfit says why accumulator input of one declaration cannot follow an output of another; "" and none when it can.
func misfit(leader *compile.Unit, output string, u *compile.Unit, input string) (why string, ds spec.Diagnostics) {
	switch o, there := leader.Outlet(output); {
	case !there:
		return "there is no such output; it has " + names(leader.Spec.Outputs), nil
	case !o.Followed:
		return "its values are not kept for followers; give it sink: { followers: {} }", nil
	default:
		return "", u.Misfits(input, o.Type)
	}
}

func names(outputs []spec.Output) string {
	list := make([]string, len(outputs))
	for i := range outputs {
		list[i] = outputs[i].Name
	}
	return strings.Join(list, ", ")
}

// unfollowed refuses to remove a graph that others follow: they would read it no more.
func (e *Engine) unfollowed(g api.Ref) error {
	followers := e.feeds.Followers(g)
	if len(followers) == 0 {
		return nil
	}
	return &api.Error{Status: http.StatusConflict, Code: api.CodeFollowed, Detail: "graphs follow its outputs: " +
		by(followers) + "; delete these first, or have them read something else"}
}

// by names who follows.
func by(followers []feed.Followed) string {
	list := make([]string, len(followers))
	for i, f := range followers {
		list[i] = fmt.Sprintf("%s (accumulator %s, of output %s)", f.By.Graph.Name, f.By.Accumulator, f.Output)
	}
	return strings.Join(list, ", ")
}
