package supervisor

import (
	"cmp"
	"maps"
	"slices"
)

// few is how many children are looked through: a graph has a handful, and a map takes more than they do.
const few = 8

// children are the nodes below one, each of another name. The zero value has none.
type children struct {
	list   []*Node          // while there are few
	byName map[string]*Node // from then on; nil before
}

func (c *children) len() int { return max(len(c.list), len(c.byName)) }

// get is the one of that name, nil for none.
func (c *children) get(name string) *Node {
	if c.byName != nil {
		return c.byName[name]
	}
	if i := c.find(name); i >= 0 {
		return c.list[i]
	}
	return nil
}

func (c *children) find(name string) int {
	return slices.IndexFunc(c.list, func(n *Node) bool { return n.name == name })
}

// put adds one, of a name that there is not.
func (c *children) put(n *Node) {
	if c.byName == nil && len(c.list) < few {
		c.list = append(c.list, n)
		return
	}
	if c.byName == nil {
		c.byName = make(map[string]*Node, 2*few)
		for _, other := range c.list {
			c.byName[other.name] = other
		}
		c.list = nil
	}
	c.byName[n.name] = n
}

// remove takes the one of that name out.
func (c *children) remove(name string) {
	delete(c.byName, name)
	if i := c.find(name); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
	}
}

// sorted are all, by name.
func (c *children) sorted() []*Node {
	all := slices.Clone(c.list)
	if c.byName != nil {
		all = slices.Collect(maps.Values(c.byName))
	}
	slices.SortFunc(all, func(a, b *Node) int { return cmp.Compare(a.name, b.name) })
	return all
}
