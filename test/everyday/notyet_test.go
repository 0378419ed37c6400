package everyday

// known is why something is known to be wrong.
type known struct{ why string }

// notYet are the cases, TASK/WAY, that are known to be wrong. One that has become right fails its test until it is
// taken out of here.
func notYet() map[string]known {
	const ends = "the end of a run closes every session, as if the pause had passed"
	return map[string]known{"sensors/run cut": {ends}}
}
