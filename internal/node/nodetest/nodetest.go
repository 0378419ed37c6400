// Package nodetest has the kinds of nodes for tests of what plans are made of, where those that
// are built in cannot be imported, for they build on what is tested.
package nodetest

import (
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/gofunc"
	"github.com/graphd/graphd/internal/node/route"
	"github.com/graphd/graphd/internal/node/webcall"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/spectest"
)

// Nodes are all kinds of nodes, with no function registered.
func Nodes() []kind.Node {
	return []kind.Node{expr.Kind(), route.Kind(), gofunc.Kind(nil), webcall.Kind(nil, false)}
}

// Kinds are those of [spectest.Kinds] with the nodes.
func Kinds() spec.Kinds {
	all := spectest.Kinds()
	for _, n := range Nodes() {
		all.Nodes = append(all.Nodes, n.Kind)
	}
	return all
}
