package flow

// Told is of how many events that wait it is known what they will call for.
func (f *Flow) Told() int { return f.told }
