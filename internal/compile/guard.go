package compile

import "strings"

// guard looks for guards that never let an epoch run, or always do.
func (l *linter) guard() {
	g := l.g.Reactor.Guard
	switch name := strings.TrimSpace(g.Text); {
	case g.IsZero():
	case len(l.u.Plan.GuardReads()) == 0:
		l.add(g.Pos, CodeIdleGuard, "the guard reads no input and no node, so it never changes with the data; "+
			"remove it, or let it read what it is to guard against")
	case l.ofFields(name) != "":
		l.add(g.Pos, CodeGuardNotBool, "the guard must come to true or false, and %s is an object, whose %s is read "+
			"elsewhere: every epoch would fail; compare one of its fields, as in %s.%s != nil", name, l.ofFields(name),
			name, l.ofFields(name))
	}
}

// ofFields is a field of what an input hands over that something reads, so that the whole is an object; "" where
// nobody knows.
func (l *linter) ofFields(input string) string {
	i := named(l.g, input)
	if i < 0 {
		return ""
	}
	if fields, _ := l.u.Plan.Reads(i); len(fields) > 0 {
		return fields[0]
	}
	_, reads := l.u.Programs[i].Key()
	for _, fields := range reads {
		if len(fields) > 0 {
			return fields[0]
		}
	}
	return ""
}

// Futile reports whether a remark of [Lint] says that nothing ever comes of a graph as it is declared: whoever checks
// it is told, also if they ask for mistakes alone.
func Futile(code string) bool { return code == CodeKeyOfEvent || code == CodeGuardNotBool }
