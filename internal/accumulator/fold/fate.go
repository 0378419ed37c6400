package fold

// Fate is what becomes of an event where several folds take a part each of their input's events. The zero value is
// that of one that is folded here.
type Fate struct {
	// Elsewhere says that another folds it; Vouched that its time, At, counts for all of them.
	Elsewhere, Vouched bool
	At                 int64
}

// Heard is a time that counts for all of several folds, of an event that another has folded: before the n-th of what is
// handed over with it, or behind the last.
type Heard struct {
	Before int
	At     int64
}

// Hear appends a time that is heard behind so many that are handed over, where it is greater than those before it.
func Hear(heard []Heard, behind int, at int64) []Heard {
	n := len(heard)
	switch {
	case n > 0 && at <= heard[n-1].At:
	case n > 0 && heard[n-1].Before == behind:
		heard[n-1].At = at
	default:
		heard = append(heard, Heard{Before: behind, At: at})
	}
	return heard
}
