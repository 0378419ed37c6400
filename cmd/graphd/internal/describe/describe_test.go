package describe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// screen is a terminal and what it has shown.
func screen() (*terminal.Terminal, *bytes.Buffer) {
	var shown bytes.Buffer
	term := terminal.New(strings.NewReader(""), &shown, &shown, func(string) string { return "" })
	term.Now = func() time.Time { return noon }
	return term, &shown
}

// numbers are the shards of a table, in its order, and how many lines there are in all.
func numbers(text string) (order []string, lines int) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 3 && words[0] != "SHARD" && words[1] != "more," && words[1] != "shards" {
			order = append(order, words[0])
		}
		lines++
	}
	return order, lines
}

// M48: an operator sees the shards first that need something: by health, paused, by what is before them, and by how far
// their time is behind.
func TestM48WorstShardsComeFirst(t *testing.T) {
	t.Parallel()
	rows := []api.ShardSummary{
		{Shard: 0, Health: "live", EngineTime: new(noon)},
		{Shard: 1, Health: "live", EngineTime: new(noon.Add(-90 * time.Second))},
		{Shard: 2, Health: "live", Queued: 3},
		{Shard: 3, Health: "live", Lag: new(int64(4))},
		{Shard: 4, Health: "live", Paused: true},
		{Shard: 5, Health: "degraded"}, {Shard: 6, Health: "stopped"}, {Shard: 7, Health: "standby"},
		{Shard: 8, Health: "warming"}, {Shard: 9, Health: "starting"}, {Shard: 10, Health: "halted"},
		{Shard: 11, Health: "failed", HealthReason: &api.Reason{Code: "crash_loop", Detail: "again"}},
		{Shard: 12, Health: "live"},
	}
	term, shown := screen()
	if err := Shards(term, rows); err != nil {
		t.Fatal(err)
	}
	order, _ := numbers(shown.String())
	if got := strings.Join(order, " "); got != "11 10 9 8 7 6 5 4 3 2 1 0 12" {
		t.Errorf("the order is %s:\n%s", got, shown)
	}
	for _, want := range []string{"crash_loop: again", "1m30s", "live (paused)"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("nothing of %q:\n%s", want, shown)
		}
	}
	want := "1 failed, 1 halted, 1 starting, 1 warming, 1 standby, 1 stopped, 1 degraded, 6 live"
	if got := healths(rows); got != want {
		t.Error(got)
	}
}

// M48: of 1,024 shards the worst are listed, and all where that is asked for.
func TestM48ManyShardsAreBounded(t *testing.T) {
	t.Parallel()
	rows := make([]api.ShardSummary, 1024)
	for n := range rows {
		rows[n] = api.ShardSummary{Shard: n, Health: "live"}
	}
	rows[1000].Health = "failed"
	for format, want := range map[string]int{terminal.FormatTable: maxShards, terminal.FormatWide: 1024} {
		term, shown := screen()
		term.Format = format
		if err := Shards(term, rows); err != nil {
			t.Fatal(err)
		}
		order, lines := numbers(shown.String())
		if len(order) != want || order[0] != "1000" || lines > want+3 {
			t.Errorf("%s: %d shards in %d lines, the first is %v", format, len(order), lines, order[0])
		}
		said := strings.Contains(shown.String(), fmt.Sprint(1024-maxShards, " shards more"))
		if said != (want == maxShards) {
			t.Errorf("%s: what is left out:\n%s", format, shown)
		}
	}
}

// M48: why shards have refused a command is told once for each reason, and bounded.
func TestM48RefusalsByReason(t *testing.T) {
	t.Parallel()
	var rows []api.ShardResult
	for n := range 1024 {
		rows = append(rows, api.ShardResult{Shard: n, Done: n == 0, Code: "not_durable", Detail: "the store is full"})
	}
	rows[7].Code, rows[7].Detail = "graph_failed", "given up"
	got := Refused(rows)
	if len(got) != 2 || !strings.HasPrefix(got[0], "1022 shards, 1, 2, 3") || len(got[0]) > 120 ||
		got[1] != "shard 7: graph_failed: given up" {
		t.Errorf("%q", got)
	}
	for n := range rows {
		rows[n] = api.ShardResult{Shard: n, Code: "x", Detail: fmt.Sprint(n)}
	}
	if got := Refused(rows); len(got) != maxRefused+1 || got[maxRefused] != "1016 more reasons; -o json has all" {
		t.Errorf("%q", got)
	}
	if got := Refused(nil); got != nil {
		t.Errorf("nobody has refused: %q", got)
	}
}

// What came too late is told by input, and nothing of inputs that have nothing of it.
func TestLateEventsAreTold(t *testing.T) {
	t.Parallel()
	g := &api.GraphSummary{Graph: "g", Accumulators: []api.AccumulatorSummary{
		{Name: "clicks", Kind: "window", Late: 1}, {Name: "quotes", Kind: "passthrough"},
		{Name: "paid", Kind: "join", Late: 12},
	}}
	term, shown := screen()
	if err := Graph(term, g); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(shown.String()) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == "late" {
			got = append(got, strings.Join(words[1:], " "))
		}
	}
	if want := []string{"1 event for the window clicks", "12 events for the join paid"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q in\n%s", got, want, shown)
	}
}

// M46: of an output that graphs follow it is told who does, and how far each is behind, as far as that is known.
func TestM46FollowersAreListed(t *testing.T) {
	t.Parallel()
	term, shown := screen()
	if err := Graph(term, &api.GraphSummary{Graph: "desk", Outputs: []api.OutputSummary{{Name: "cuts",
		Followers: []api.Follower{{Graph: "risk", Accumulator: "cut", Behind: new(int64(7))},
			{Graph: "worth", Accumulator: "in"}}}}}); err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(shown.String()) {
		words = append(words, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{"OUTPUT FOLLOWED BY ACCUMULATOR BEHIND", "cuts risk cut 7", "cuts worth in -"} {
		if !slices.Contains(words, want) {
			t.Errorf("no line %q in\n%s", want, shown)
		}
	}
}
