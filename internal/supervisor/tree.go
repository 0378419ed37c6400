package supervisor

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Tree is the live register of everything that runs in the process (M34).
type Tree struct {
	now func() time.Time

	// mu guards every node of the tree. One lock for all: lines change when pieces
	// start, end or fail, never per event.
	mu    sync.Mutex
	roots map[string]*Node
}

// Line is one node as listed.
type Line struct {
	// Path is the names from the root down, joined by slashes.
	Path  string
	State string
	// Restarts counts how often the piece was started again since it was registered.
	Restarts int
	// Since is when the state was entered.
	Since time.Time
}

// NewTree makes an empty tree that stamps its lines with now.
func NewTree(now func() time.Time) *Tree {
	return &Tree{now: now, roots: make(map[string]*Node)}
}

// Root is the tree's root of that name, made when there is none.
func (t *Tree) Root(name string) *Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.roots[name]; n != nil {
		n.ended = false
		return n
	}
	n := &Node{tree: t, name: name, since: t.now()}
	t.roots[name] = n
	return n
}

// Snapshot lists every node that has a state: a parent before its children,
// children by name.
func (t *Tree) Snapshot() []Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []Line
	for _, name := range slices.Sorted(maps.Keys(t.roots)) {
		lines = t.roots[name].appendLines(lines)
	}
	return lines
}

// Node is one place in the tree. A node without a state is only a step in the
// paths below it and is not listed.
type Node struct {
	tree   *Tree
	parent *Node
	name   string

	// Below: guarded by tree.mu.
	state    string
	since    time.Time
	restarts int
	running  bool // a goroutine of a Group is at this node
	ended    bool // goes as soon as the last child has gone
	children children
}

// Child is the node of that name below n, made when there is none. A name may
// hold slashes, which become part of the path.
func (n *Node) Child(name string) *Node {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	return n.child(name)
}

func (n *Node) child(name string) *Node {
	if c := n.children.get(name); c != nil {
		c.ended = false
		return c
	}
	c := &Node{tree: n.tree, parent: n, name: name, since: n.tree.now()}
	n.children.put(c)
	return c
}

// Path is the names from the root down, joined by slashes.
func (n *Node) Path() string {
	if n.parent == nil {
		return n.name
	}
	return n.parent.Path() + "/" + n.name
}

// SetState enters a state. Entering the state that the node is in changes nothing.
func (n *Node) SetState(state string) {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	n.setState(state)
}

func (n *Node) setState(state string) {
	if n.state == state {
		return
	}
	n.state = state
	n.since = n.tree.now()
}

// Restarted counts one restart of the piece at this node.
func (n *Node) Restarted() {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	n.restarts++
}

// Restarts is how often the piece was started again.
func (n *Node) Restarts() int {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	return n.restarts
}

// Remove takes the node out of the tree. While something still runs below it, it
// stays, as "ended", so that what would not stop can still be seen; it goes with
// the last of its children.
func (n *Node) Remove() {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	n.remove()
}

func (n *Node) remove() {
	n.ended, n.running = true, false
	if n.children.len() > 0 {
		if n.state != "" {
			n.setState("ended")
		}
		return
	}
	// A node of the same name may have been made since n was taken out; it is not n's to remove.
	if n.parent == nil {
		if n.tree.roots[n.name] == n {
			delete(n.tree.roots, n.name)
		}
		return
	}
	if n.parent.children.get(n.name) == n {
		n.parent.children.remove(n.name)
	}
	if n.parent.ended && n.parent.children.len() == 0 {
		n.parent.remove()
	}
}

// start registers a goroutine below n. A name in use gets a number, so that two
// of one name can be told apart.
func (n *Node) start(name string) *Node {
	n.tree.mu.Lock()
	defer n.tree.mu.Unlock()
	free := name
	for i := 2; n.children.get(free) != nil && n.children.get(free).running; i++ {
		free = name + "#" + strconv.Itoa(i)
	}
	c := n.child(free)
	c.running = true
	c.setState(StateRunning)
	return c
}

// appendRunning adds the paths of what still runs at or below n, the innermost
// only: a parent that waits for a stuck child is not itself the news.
func (n *Node) appendRunning(paths []string) []string {
	before := len(paths)
	for _, c := range n.children.sorted() {
		paths = c.appendRunning(paths)
	}
	if n.running && len(paths) == before {
		paths = append(paths, n.Path())
	}
	return paths
}

func (n *Node) appendLines(lines []Line) []Line {
	if n.state != "" {
		lines = append(lines, Line{Path: n.Path(), State: n.state, Restarts: n.restarts, Since: n.since})
	}
	for _, c := range n.children.sorted() {
		lines = c.appendLines(lines)
	}
	return lines
}
