package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
)

// Reach is what a tenant's declarations may reach that came without a file of their own.
type Reach struct {
	// Access are the files, secrets, variables and kinds; nil denies nothing.
	Access *policy.Policy
	// Guard dials for all that calls out; it is required where a source or sink does.
	Guard *outbound.Guard
	// Connections are the databases and clusters that declarations may name; nil where none are known.
	Connections outbound.Named
	// KafkaBrokers are the brokers of declarations that name none.
	KafkaBrokers []string
	// Folder is where relative paths begin; "" is the working directory.
	Folder string
}

// For are the kinds as a tenant's declarations have them.
func (k *Kinds) For(tenant string) *Kinds {
	if k.Tenants == nil || tenant == "" || tenant == checkpoint.DefaultTenant {
		return k
	}
	own := *k
	own.Reach, own.Tenants, own.kept = *k.Tenants(tenant), nil, nil
	return &own
}

// access says what a declaration may reach by the file it came from: one that came from a file of the daemon's
// folder is the operator's.
func (k *Kinds) access(file string) *policy.Policy {
	if file != "" {
		return nil
	}
	return k.Access
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
		if a := &g.Accumulators[i]; a.Source.Kind != "" && !a.Fed() {
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

// unconnected says which connections a declaration names that the daemon's configuration has not.
func (k *Kinds) unconnected(g *spec.Graph) (diags spec.Diagnostics) {
	if k.Connections == nil {
		return nil
	}
	check := func(of string, at spec.Pos, config any) {
		c, ok := config.(kind.Connected)
		if !ok {
			return
		}
		name, scheme := c.Named()
		if name == "" || name == outbound.StoreConnection && scheme == outbound.OfDatabase && k.access(g.File) == nil {
			return
		}
		_, err := k.Connections.Find(name)
		fitting := k.Connections.Of(scheme)
		if slices.Contains(fitting, name) {
			return
		}
		d := spec.Diagnostic{File: g.File, Line: at.Line, Column: at.Column, Path: at.Path,
			Code: spec.CodeUnknownName, Text: fmt.Sprintf("the %s: %v", of, err)}
		switch {
		case err == nil:
			there := cmp.Or(strings.Join(fitting, ", "), "none")
			d.Code, d.Text = spec.CodeBadValue, fmt.Sprintf("the %s takes a connection to %s, and %q is none (there "+
				"is %s); name one that is", of, map[string]string{outbound.OfDatabase: "a Postgres database",
				outbound.OfCluster: "a Kafka cluster"}[scheme], name, there)
		case name == outbound.StoreConnection && scheme == outbound.OfDatabase:
			d.Code = spec.CodeDenied
			d.Text = fmt.Sprintf("the %s: its table is in the daemon's own database, written with the daemon's own "+
				"user; name another with connection, or ask the operator of the daemon for the connection "+
				"store=store, if declarations from the network may do that, or to put this one into the folder of "+
				"--graphs", of)
		}
		diags = append(diags, d)
	}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		check("accumulator "+a.Name, a.Source.Pos, a.Source.Config)
	}
	for i := range g.Outputs {
		check("output "+g.Outputs[i].Name, g.Outputs[i].Sink.Pos, g.Outputs[i].Sink.Config)
	}
	return diags
}

// CheckConnections reports what is wrong with the connections of the daemon's configuration. An error
// tells no address.
func CheckConnections(named outbound.Named) error {
	var errs []error
	for name, address := range named {
		err := error(nil)
		switch {
		case !outbound.ValidName(name):
			err = errors.New("a name has lower-case letters, digits and _, and begins with a letter")
		case (name == outbound.StoreConnection) != (address == outbound.StoreConnection):
			err = errors.New("store is the name of the daemon's own database, and its address")
		case strings.HasPrefix(address, "kafka:"):
			_, err = kafkanet.ParseAddress(address)
		case address != outbound.StoreConnection:
			_, err = outbound.ParseDatabase(address)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the connection %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
