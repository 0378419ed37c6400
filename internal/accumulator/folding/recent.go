package folding

// entry finds the cell of a key. Entries are in the order in which they were used.
type entry struct {
	key          string // as text, see [boundary.AppendKey]
	cell         int    // its number in the table
	newer, older *entry
}

// recency is the order of entries: a ring around a head, whose older is the most recent.
type recency struct{ head entry }

func (r *recency) clear() { r.head.newer, r.head.older = &r.head, &r.head }

// oldest is the least recently used; nil when there is none.
func (r *recency) oldest() *entry {
	if e := r.head.newer; e != &r.head {
		return e
	}
	return nil
}

// use makes e the most recent. A new entry is put in.
func (r *recency) use(e *entry) {
	if r.head.older == e {
		return
	}
	if e.newer != nil {
		r.remove(e)
	}
	e.newer, e.older = &r.head, r.head.older
	e.older.newer, r.head.older = e, e
}

func (r *recency) remove(e *entry) {
	e.newer.older, e.older.newer = e.older, e.newer
	e.newer, e.older = nil, nil
}
