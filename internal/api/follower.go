package api

import "slices"

// Follower is a graph that follows an output.
type Follower struct {
	Graph       string `json:"graph"`
	Accumulator string `json:"accumulator"`
	// Behind is how many values it does not have in a checkpoint of its own yet; null where the output does not run
	// here, or has put out nothing since it began to.
	Behind *int64 `json:"behind"`
}

// Narrowed is the summary with those who follow alone that may be seen. It shares nothing that it changes.
func (s GraphSummary) Narrowed(sees func(graph string) bool) GraphSummary {
	hidden := func(f Follower) bool { return !sees(f.Graph) }
	s.Outputs = slices.Clone(s.Outputs)
	for i := range s.Outputs {
		if o := &s.Outputs[i]; slices.ContainsFunc(o.Followers, hidden) {
			o.Followers = slices.DeleteFunc(slices.Clone(o.Followers), hidden)
		}
	}
	return s
}
