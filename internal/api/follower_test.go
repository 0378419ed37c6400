package api

import "testing"

// A6: who may not know of a graph is not told that it follows, and what others are told stays as it was.
func TestFollowersThatMayNotBeSeen(t *testing.T) {
	t.Parallel()
	all := GraphSummary{Outputs: []OutputSummary{{Name: "o"}, {Name: "cuts", Followers: []Follower{{Graph: "mine"},
		{Graph: "other"}, {Graph: "mine", Accumulator: "b"}}}}}
	told := all.Narrowed(func(graph string) bool { return graph == "mine" })
	if f := told.Outputs[1].Followers; len(f) != 2 || f[0].Graph != "mine" || f[1].Graph != "mine" {
		t.Errorf("%+v", f)
	}
	if f := all.Outputs[1].Followers; len(f) != 3 || f[1].Graph != "other" {
		t.Errorf("what others are told is %+v", f)
	}
	all.Graph = "mine"
	list := GraphList{Items: []GraphSummary{all}}
	if list.Narrow(func(graph string) bool { return graph == "mine" }); len(list.Items[0].Outputs[1].Followers) != 2 {
		t.Errorf("%+v", list.Items[0])
	}
}
