package builtin

import (
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
)

// access says what a declaration may reach by the file it came from: one that came from a file of the daemon's
// folder is the operator's.
func (k *Kinds) access(file string) *policy.Policy {
	if file != "" {
		return nil
	}
	return k.Access.Of(checkpoint.DefaultTenant)
}

// Names are all kinds by which a policy knows them, as source.file.
func (k *Kinds) Names() (names []string) {
	for _, s := range k.sources() {
		names = append(names, "source."+s.Name())
	}
	for _, s := range k.sinks() {
		names = append(names, "sink."+s.Name())
	}
	for _, n := range k.nodes() {
		if n.Built() {
			names = append(names, "node."+n.Name())
		}
	}
	return names
}

// denied says what a declaration names that it may not reach.
func (k *Kinds) denied(g *spec.Graph) (diags spec.Diagnostics) {
	access := k.access(g.File)
	if access == nil {
		return nil
	}
	check := func(of string, at spec.Pos, name string, config any) {
		say := func(err error) {
			diags = append(diags, spec.Diagnostic{
				File: g.File, Line: at.Line, Column: at.Column, Path: at.Path, Code: spec.CodeDenied,
				Text: fmt.Sprintf("the %s: %v", of, err),
			})
		}
		if err := access.MayUse(name); err != nil {
			say(err)
			return
		}
		if calling, ok := config.(kind.Calling); ok {
			for _, host := range calling.Hosts() {
				if err := k.Guard.For(true).Allows(host); err != nil {
					say(err)
				}
			}
		}
		files, ok := config.(kind.Filed)
		if !ok {
			return
		}
		for _, path := range files.Files() {
			if path == "" {
				continue
			}
			if err := access.MayReach(kind.Resolve(k.folder(g), path)); err != nil {
				say(err)
			}
		}
	}
	for i := range g.Accumulators {
		if a := &g.Accumulators[i]; a.Source.Kind != "" && a.From == "" {
			check("accumulator "+a.Name, a.Source.Pos, "source."+a.Source.Kind, a.Source.Config)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		check("node "+n.Name, n.Pos, "node."+n.Kind, n.Config)
	}
	for i := range g.Outputs {
		o := &g.Outputs[i]
		check("output "+o.Name, o.Sink.Pos, "sink."+o.Sink.Kind, o.Sink.Config)
	}
	return diags
}
