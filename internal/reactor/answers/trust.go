package answers

// Trust is in what is foreseen: while it is above zero something is. What goes by what comes in between is asked for in
// vain; where more than one in eight epochs asks so, it ends.
type Trust int

// MostTrust is what it begins with.
const MostTrust Trust = 64

const wrongCosts = 8

// Judge notes whether what was foreseen of an epoch was right. Where it has ended it stays so.
func (t *Trust) Judge(right bool) {
	if *t <= 0 {
		return
	}
	if right {
		*t = min(*t+1, MostTrust)
	} else {
		*t -= wrongCosts
	}
}
