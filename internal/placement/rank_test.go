package placement

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"pgregory.net/rapid"
)

func units(n int) []checkpoint.ID {
	all := make([]checkpoint.ID, n)
	for i := range all {
		all[i] = checkpoint.ID{Tenant: "default", Graph: fmt.Sprintf("g%04d", i)}
	}
	return all
}

func member(id string, capacity int) checkpoint.Member {
	return checkpoint.Member{ID: id, Capacity: capacity}
}

func members(n int) []checkpoint.Member {
	all := make([]checkpoint.Member, n)
	for i := range all {
		all[i] = member(fmt.Sprintf("6f1d0000-0000-4000-8000-%012d", i), 1)
	}
	return all
}

// rankOf is the rank of a unit by itself.
func rankOf(unit checkpoint.ID, members []checkpoint.Member) []string {
	return rank(unitHash(unit), candidates(members))
}

// M52: the order is the same for ever: a release that orders otherwise would move every graph.
func TestM52RankIsGolden(t *testing.T) {
	among := []checkpoint.Member{member("a", 1), member("b", 2), member("c", 1), member("d", 0)}
	var b strings.Builder
	for _, id := range append(units(12), checkpoint.ID{Tenant: "acme", Graph: "g", Shard: 7}, checkpoint.ID{}) {
		fmt.Fprintf(&b, "%s %s\n", id, strings.Join(rankOf(id, among), " "))
	}
	const golden = "testdata/rank.txt"
	want, err := os.ReadFile(golden)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil || string(want) != b.String() {
		t.Errorf("the order has changed (%v):\n%s", err, b.String())
	}
}

// M52: of equal members each has its share within a fifth; a member of twice the weight has twice as much.
func TestM52Spread(t *testing.T) {
	for _, n := range []int{2, 3, 5, 8} {
		among, all := members(n), units(n*1000)
		among[0].Capacity = 2
		have := map[string]int{}
		for _, id := range all {
			have[rankOf(id, among)[0]]++
		}
		for i, m := range among {
			want := float64(len(all)*m.Capacity) / float64(n+1)
			if got := float64(have[m.ID]); got < 0.8*want || got > 1.2*want {
				t.Errorf("member %d of %d has %.0f units, want %.0f within a fifth", i, n, got, want)
			}
		}
	}
}

// M52: a member that comes takes its share and no more; one that goes leaves all others where they are.
func TestM52FewMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 16).Draw(t, "members")
		among, all := members(n+1), units(rapid.IntRange(500, 2000).Draw(t, "units"))
		weights := 0
		for i := range among {
			among[i].ID += rapid.StringMatching("[a-z]{4}").Draw(t, "id")
			among[i].Capacity = rapid.IntRange(1, 4).Draw(t, "capacity")
			weights += among[i].Capacity
		}
		comes := among[n]
		moved := 0
		for _, id := range all {
			before, after := rankOf(id, among[:n]), rankOf(id, among)
			if after[0] == comes.ID {
				moved++
			} else if after[0] != before[0] {
				t.Fatalf("%s moves from %s to %s, neither of which has come", id, before[0], after[0])
			}
			rest := slices.DeleteFunc(after, func(m string) bool { return m == comes.ID })
			if !slices.Equal(rest, before) {
				t.Fatalf("%s: the others change places: %v, then %v", id, before, rest)
			}
		}
		if most := len(all)*comes.Capacity/weights + len(all)/10; moved > most {
			t.Fatalf("%d of %d units move, want %d at most", moved, len(all), most)
		}
	})
}

// M52: who drains is given nothing while another is there, who has no capacity nothing while one with a
// capacity is, and who leaves or has expired never anything.
func TestM52Tiers(t *testing.T) {
	full, standby, drained := member("a", 1), member("b", 0), member("c", 1)
	leaving, expired := member("d", 1), member("e", 1)
	drained.Drained, leaving.Leaving, expired.Expired = true, true, true
	id := units(1)[0]
	for _, c := range []struct {
		among []checkpoint.Member
		want  []string
	}{
		{[]checkpoint.Member{full, standby, drained, leaving, expired}, []string{"a"}},
		{[]checkpoint.Member{standby, drained, leaving, expired}, []string{"b"}},
		{[]checkpoint.Member{drained, leaving, expired}, []string{"c"}},
		{[]checkpoint.Member{leaving, expired}, []string{}},
	} {
		if got := rankOf(id, c.among); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.among, got, c.want)
		}
	}
}

// M52: units that feed each other have one group, whose name is the least, and its order.
func TestM52Groups(t *testing.T) {
	u := units(6)
	places := Groups([]Link{{u[4], u[2]}, {u[2], u[5]}, {u[4], u[5]}, {u[1], u[3]}})
	want := map[checkpoint.ID]Place{u[4]: {u[2], 0}, u[2]: {u[2], 1}, u[5]: {u[2], 2}, u[1]: {u[1], 0}, u[3]: {u[1], 1}}
	for id, p := range want {
		if places[id] != p {
			t.Errorf("%s stands at %v, want %v", id, places[id], p)
		}
	}
	if len(places) != len(want) {
		t.Errorf("%v", places)
	}
}

func TestCapacity(t *testing.T) {
	for c, ok := range map[int]bool{-1: false, 0: true, 1: true, MaxCapacity: true, MaxCapacity + 1: false} {
		if err := ValidateCapacity(c); (err == nil) != ok {
			t.Errorf("%d: %v", c, err)
		}
	}
}

// M52: the shards of a graph are one group, with the graphs that it is linked with, unless they are spread; and those
// of a linked graph are together in any case.
func TestM52ShardsOfAGraphAreTogetherOrSpread(t *testing.T) {
	id := func(graph string, shard int) checkpoint.ID {
		return checkpoint.ID{Tenant: "t", Graph: graph, Shard: shard}
	}
	linked := Groups([]Link{{id("up", 0), id("down", 0)}})
	for _, c := range []struct {
		unit, together, spread checkpoint.ID
		depth                  int
	}{
		{id("alone", 0), id("alone", 0), id("alone", 0), 0},
		{id("alone", 7), id("alone", 0), id("alone", 7), 0},
		{id("up", 3), id("down", 0), id("down", 0), 0},
		{id("down", 3), id("down", 0), id("down", 0), 1},
	} {
		for spread, want := range map[bool]checkpoint.ID{false: c.together, true: c.spread} {
			p := Places{Linked: linked, Spread: spread}
			if got := p.Of(c.unit); got.Group != want || got.Depth != c.depth {
				t.Errorf("%s, spread %v: %v, want %v", c.unit, spread, got, want)
			}
		}
	}
}

// M53: shards are spread as long as each member can be asked for those that it has.
func TestM53ShardsAreSpreadAmongThoseWhoCanBeAsked(t *testing.T) {
	t.Parallel()
	a, b := member("a", 1), member("b", 1)
	a.Peer = "10.0.0.1:8081"
	if p := (Places{Spread: true}).Among([]checkpoint.Member{a, b}); p.Spread {
		t.Error("spread, though b takes no requests")
	}
	b.Expired = true
	if p := (Places{Spread: true}).Among([]checkpoint.Member{a, b}); !p.Spread {
		t.Error("not spread, though b is gone")
	}
	if p := (Places{}).Among([]checkpoint.Member{a}); p.Spread {
		t.Error("spread, though it is not to be")
	}
}
