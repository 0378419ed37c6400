// Package contracts holds the declarations of graphs that follow outputs of others against those of the others (0350):
// what one reads is what the other puts out, and stays it while one reads it.
//
// A [Book] may be used from any goroutine.
package contracts

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/spec"
)

// Book is the declarations that there are.
type Book struct {
	Links *feed.Links
	// Unit is what the declaration of a graph comes to; nil where there is none, or it cannot be used.
	Unit func(g api.Ref) *compile.Unit
}

// Fits refuses a declaration of graph g that reads outputs which are not what it takes them for, and one whose outputs
// are not any more what other graphs read. A graph that is not there, or does not compile, is no reason: the other one
// waits for it, and it is held against the other when it comes.
func (b *Book) Fits(g api.Ref, u *compile.Unit, sees func(graph string) bool) error {
	readers := b.Links.Readers(g)
	if diags := append(b.reads(g, u), unreadable(u, readers, sees)...); len(diags) > 0 {
		return api.Invalid(diags)
	}
	var broken []string
	for _, f := range readers {
		by := b.Unit(f.By.Graph)
		if !f.Follows || by == nil {
			continue
		}
		why, misfits := misfit(u, f.Output, by, f.By.Accumulator)
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
	return b.keeps(g, u, sees)
}

// reads are the outputs of other graphs that a declaration cannot read as it says.
func (b *Book) reads(g api.Ref, u *compile.Unit) (diags spec.Diagnostics) {
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		graph, output, linked := a.Source.Origin().Graph()
		leader := b.Unit(api.Ref{Tenant: g.Tenant, Name: graph})
		if !linked || leader == nil {
			continue
		}
		why, verb := "", "follow"
		if a.Source.Origin().Follows() {
			var misfits spec.Diagnostics
			why, misfits = misfit(leader, output, u, a.Name)
			diags = append(diags, misfits...)
		} else if o, _ := leader.Outlet(output); o.Followed {
			verb, why = "read", keptForFollowers
		}
		if why != "" {
			diags = append(diags, contract(u, &a.Source.Pos, fmt.Sprintf(
				"%s cannot %s output %s of graph %s: %s", a.Name, verb, output, graph, why)))
		}
	}
	return diags
}

// unreadable are the outputs of a declaration that are kept for followers, and that graphs read which do not follow.
func unreadable(u *compile.Unit, readers []feed.Reader, sees func(graph string) bool) (diags spec.Diagnostics) {
	for _, r := range readers {
		if o, _ := u.Outlet(r.Output); r.Follows || !o.Followed {
			continue
		}
		name := "a graph"
		if sees == nil || sees(r.By.Graph.Name) {
			name = fmt.Sprintf("graph %s (accumulator %s)", r.By.Graph.Name, r.By.Accumulator)
		}
		i := slices.IndexFunc(u.Spec.Outputs, func(o spec.Output) bool { return o.Name == r.Output })
		diags = append(diags, contract(u, &u.Spec.Outputs[i].Sink.Pos, fmt.Sprintf(
			"%s could read output %s no more: %s", name, r.Output, keptForFollowers)))
	}
	return diags
}

var (
	// followWord is what the declaration of every graph that follows has in it, followersWord what that of every one
	// has that may be followed.
	followWord    = regexp.MustCompile(`\bfollow\b`)
	followersWord = regexp.MustCompile(`\bfollowers\b`)
)

// MayFollow says whether a graph may be one that follows, from its declaration alone.
func MayFollow(d *checkpoint.Declaration) bool { return followWord.MatchString(d.Text) }

// Doubt has the outputs of a tenant wait for a graph whose declaration cannot be used, or is not taken for want of
// room, if it may follow one.
func (b *Book) Doubt(d *checkpoint.Declaration, untaken bool) {
	if MayFollow(d) {
		b.Links.Doubt(api.Ref{Tenant: d.Tenant, Name: d.Graph}, feed.Doubt{Text: d.Text, Untaken: untaken})
	}
}

// names says that a declaration may name a graph: what a reference or an escape comes to is not looked up.
func names(text, graph string) bool {
	return strings.Contains(text, graph) || strings.Contains(text, "${") || strings.Contains(text, `\`)
}

// keeps refuses a declaration of graph g that takes an output away, or changes what it puts out, while nobody knows
// whether a graph follows that.
func (b *Book) keeps(g api.Ref, u *compile.Unit, sees func(graph string) bool) error {
	who := b.Links.MayFollow(g)
	old := b.Unit(g)
	if len(who) == 0 || old == nil {
		return nil
	}
	for i := range old.Spec.Outputs {
		name := old.Spec.Outputs[i].Name
		was, _ := old.Outlet(name)
		is, _ := u.Outlet(name)
		if was.Followed && (!is.Followed || !is.Type.Equal(was.Type)) {
			return mayFollow(&who[0], sees, "the output "+name+" would be another or none")
		}
	}
	return nil
}

// mayFollow refuses what may take something from a graph of which is not known what it follows.
func mayFollow(d *feed.Doubt, sees func(graph string) bool, what string) error {
	who := "a graph"
	if sees == nil || sees(d.Graph) {
		who = fmt.Sprintf("graph %q", d.Graph)
	}
	return &api.Error{Status: http.StatusConflict, Code: api.CodeFollowed, Detail: fmt.Sprintf("the declaration of %s "+
		"%s, and it may be one that follows: %s; wait until %s", who, d.Why(), what, d.Until())}
}

// keptForFollowers is why an accumulator of source graph reads no output of sink followers: nobody would know what of
// it has been handed over, and after each restart all that is kept would come again.
const keptForFollowers = "its values are kept for graphs that follow, and handed to nobody; read it with source: " +
	"{ follow: … }"

// contract is a mistake in how a declaration goes with that of another graph.
func contract(u *compile.Unit, at *spec.Pos, text string) spec.Diagnostic {
	return spec.Diagnostic{File: u.Spec.File, Line: at.Line, Column: at.Column, Path: at.Path,
		Code: compile.CodeContract, Text: text}
}

// misfit says why accumulator input of one declaration cannot follow an output of another; "" and none when it can.
func misfit(leader *compile.Unit, output string, u *compile.Unit, input string) (why string, ds spec.Diagnostics) {
	switch o, there := leader.Outlet(output); {
	case !there:
		return "there is no such output; it has " + outputs(leader.Spec.Outputs), nil
	case !o.Followed:
		return "its values are not kept for followers; give it sink: { followers: {} }", nil
	default:
		return "", u.Misfits(input, o.Type)
	}
}

func outputs(of []spec.Output) string {
	list := make([]string, len(of))
	for i := range of {
		list[i] = of[i].Name
	}
	return strings.Join(list, ", ")
}

// Unfollowed refuses to remove a graph, of which text is the declaration, that others follow: they would read it no
// more.
func (b *Book) Unfollowed(g api.Ref, text string) error {
	followers := slices.DeleteFunc(b.Links.Readers(g), func(r feed.Reader) bool { return !r.Follows })
	if len(followers) > 0 {
		return &api.Error{Status: http.StatusConflict, Code: api.CodeFollowed, Detail: "graphs follow its outputs: " +
			by(followers) + "; delete these first, or have them read something else"}
	}
	for _, d := range b.Links.MayFollow(g) {
		if b.mayBeFollowed(g, text, &d) {
			return mayFollow(&d, nil, "it would read this one no more")
		}
	}
	return nil
}

// mayBeFollowed says that a graph may be what another one follows. Of a declaration that cannot be used the words alone
// are known, and two such are not both to wait for the other.
func (b *Book) mayBeFollowed(g api.Ref, text string, by *feed.Doubt) bool {
	if u := b.Unit(g); u != nil {
		return slices.ContainsFunc(u.Spec.Outputs, func(o spec.Output) bool { return o.Sink.Target().Followers() })
	}
	return followersWord.MatchString(text) && names(by.Text, g.Name)
}

// by names who follows.
func by(followers []feed.Reader) string {
	list := make([]string, len(followers))
	for i, f := range followers {
		list[i] = fmt.Sprintf("%s (accumulator %s, of output %s)", f.By.Graph.Name, f.By.Accumulator, f.Output)
	}
	return strings.Join(list, ", ")
}
