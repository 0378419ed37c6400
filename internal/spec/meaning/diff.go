package meaning

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Diff says what differs from a to b, one line per place, in the order of b with
// what was removed at the end of each group.
func Diff(a, b *Tree) []string { return diff(nil, "", a, b) }

func diff(lines []string, path string, a, b *Tree) []string {
	if a.value != b.value {
		was, is := display(a), display(b)
		if line := "changed " + path; was == is {
			lines = append(lines, line) // what differs is hidden
		} else {
			lines = append(lines, line+": "+was+" → "+is)
		}
	}
	before, after := byName(a), byName(b)
	var common, kept []string
	for _, y := range b.branches {
		at := join(path, y.name)
		if x := before[y.name]; x != nil {
			common = append(common, y.name)
			lines = diff(lines, at, x, y)
		} else {
			lines = append(lines, "added "+at+detail(y))
		}
	}
	for _, x := range a.branches {
		if after[x.name] != nil {
			kept = append(kept, x.name)
		} else {
			lines = append(lines, "removed "+join(path, x.name)+detail(x))
		}
	}
	if b.ordered && !slices.Equal(kept, common) {
		lines = append(lines, "reordered "+path)
	}
	return lines
}

func byName(t *Tree) map[string]*Tree {
	m := make(map[string]*Tree, len(t.branches))
	for _, b := range t.branches {
		m[b.name] = b
	}
	return m
}

// detail is the value of a place that came or went; of a group, the name is enough.
func detail(t *Tree) string {
	if t.value == "" || len(t.branches) > 0 {
		return ""
	}
	return ": " + display(t)
}

// display shows a value on one line.
func display(t *Tree) string {
	switch {
	case len(t.branches) > 0:
		return "…"
	case t.value == "":
		return "nothing"
	case t.shown != "":
		return t.shown
	}
	return shorten(strings.Join(strings.Fields(t.value), " "), 120)
}

// join makes the path of a branch. Long names are cut: they come from the user.
func join(path, name string) string {
	name = shorten(name, 64)
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
