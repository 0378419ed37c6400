package everyday

// known is why something is known to be wrong.
type known struct {
	why string
	// luck says that it can be right by the luck of a race, which then fails nothing.
	luck bool
}

// notYet are the cases, TASK/WAY, that are known to be wrong. One that has become right fails its test until it is
// taken out of here.
func notYet() map[string]known {
	const (
		pauses = "there are no session windows: a burst with debounce does not put disorder right"
		apart  = "files that have been read to their ends are not waited for, and grow one by one"
		ends   = "the end of a run fires what debounce holds back, as if the silence had passed"
	)
	return map[string]known{
		"sensors/run cut":            {why: ends},
		"sessions/run shuffled":      {why: pauses},
		"sessions/catch-up shuffled": {why: pauses},
		"sessions/push shuffled":     {why: pauses},
		"orders/followed killed":     {why: apart, luck: true},
		"fraud/followed killed":      {why: apart, luck: true},
	}
}
