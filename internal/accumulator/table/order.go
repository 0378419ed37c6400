package table

import (
	"cmp"
	"slices"
)

// change is a place in the order of changes. It is void once its row was changed again or is gone.
type change struct {
	hash uint64
	seq  int64
}

// order of changes, the oldest first. It is in no snapshot: rows say by themselves when they were changed.
type changeLog struct {
	list []change
	head int
	// gen counts how often the list was made anew: a snapshot knows its part of it as long as it was not.
	gen uint64
}

func (l *changeLog) push(c change, rows int) (full bool) {
	l.list = append(l.list, c)
	return len(l.list) > 2*rows+1024
}

// oldest is the row of a table that was changed least recently; nil when it is empty.
func (l *changeLog) oldest(root *node) (hash uint64, r *row) {
	for ; l.head < len(l.list); l.head++ {
		c := l.list[l.head]
		if r = root.bySeq(c.hash, c.seq); r != nil {
			return c.hash, r
		}
	}
	return 0, nil
}

// renew makes the list of the rows that there are. A list made of what it has is in order already.
func (l *changeLog) renew(root *node) {
	list := make([]change, 0, root.len()+root.len()/2)
	root.each(func(s slot) bool { list = append(list, change{s.hash, s.row.seq}); return true })
	slices.SortFunc(list, func(a, b change) int { return cmp.Compare(a.seq, b.seq) })
	l.list, l.head = list, 0
	l.gen++
}

// clean leaves out what is void.
func (l *changeLog) clean(root *node) {
	list := make([]change, 0, root.len()+root.len()/2)
	for _, c := range l.list[l.head:] {
		if root.bySeq(c.hash, c.seq) != nil {
			list = append(list, c)
		}
	}
	l.list, l.head = list, 0
	l.gen++
}
