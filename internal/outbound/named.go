package outbound

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// StoreConnection is both the name and the address of the database that the daemon keeps its graphs in.
const StoreConnection = "store"

// Named are the databases and clusters that the daemon's configuration has under a name: their addresses, with
// what credentials they need. nil is of a program that knows of none, as one that only checks declarations.
type Named map[string]string

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ValidName reports whether a text can be the name of a connection.
func ValidName(s string) bool { return nameForm.MatchString(s) }

// Find is the address of a connection. An error tells no address.
func (n Named) Find(name string) (string, error) {
	if address, ok := n[name]; ok {
		return address, nil
	}
	there := strings.Join(slices.Sorted(maps.Keys(n)), ", ")
	if there == "" {
		there = "none"
	}
	return "", fmt.Errorf("the daemon's configuration has no connection %q here (there is %s); name one that there "+
		"is, or ask the operator of the daemon to add it", name, there)
}

// The schemes of addresses.
const (
	OfDatabase = "postgres"
	OfCluster  = "kafka"
)

// Of are the names of those with an address of a scheme, in order.
func (n Named) Of(scheme string) (names []string) {
	for name, address := range n {
		is, _, _ := strings.Cut(address, ":")
		if address == StoreConnection || is == "postgresql" {
			is = OfDatabase
		}
		if is == scheme {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Operators is the guard for what the daemon's configuration names: it dials anything, under the bounds of all.
func (g *Guard) Operators() *Guard {
	if g == nil {
		return nil
	}
	named := *g
	named.all, named.strict = true, false
	return &named
}
