package fold

// Fate is what becomes of an event where several folds take a part each of their input's events. The zero value is
// that of one that is folded here.
type Fate struct {
	// Elsewhere says that another folds it; Vouched that its time, At, counts for all of them.
	Elsewhere, Vouched bool
	At                 int64
}
