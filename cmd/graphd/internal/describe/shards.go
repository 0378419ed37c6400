package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

const (
	// maxShards is how many shards are listed where not all are asked for: the worst.
	maxShards = 16
	// maxRefused is how many reasons are told why shards have not carried out a command.
	maxRefused = 8
	// maxNumbers bounds the text that names shards of one reason.
	maxNumbers = 60
)

// Shards lists shards, the worst first: those that do not run, those that run with trouble, then those that have most
// before them. Of many only the first are shown, unless the wide format asks for all.
func Shards(term *terminal.Terminal, rows []api.ShardSummary) error {
	sorted := slices.SortedFunc(slices.Values(rows), worst)
	furthest := latest(rows)
	shown := len(sorted)
	if !term.Wide() {
		shown = min(shown, maxShards)
	}
	t := terminal.NewTable("SHARD", "HEALTH", "KEYS", "EPOCH", "LAG", "QUEUED", "WAITING", "BEHIND", "DEAD",
		"LAST FIRED", "REASON").Numbers(0, 2, 3, 4, 5, 6, 7, 8).Color(1, terminal.HealthTone)
	for i := range sorted[:shown] {
		s := &sorted[i]
		health, lag := s.Health, "-"
		if s.Paused {
			health += " (paused)"
		}
		if s.Lag != nil {
			lag = terminal.Number(*s.Lag)
		}
		t.Row(terminal.Number(s.Shard), health, terminal.Number(s.Keys), terminal.Number(s.Epoch), lag,
			terminal.Number(s.Queued), terminal.Number(s.Waiting), behind(s, furthest), terminal.Number(s.DeadLettered),
			term.Ago(s.LastFiredAt), term.Clip(Reason(s.HealthReason), 60))
	}
	if err := term.Section(t); err != nil {
		return err
	}
	if left := len(sorted) - shown; left > 0 {
		term.Say("%s more, none of them worse: -o wide lists all, --shard shows one", terminal.Plural(left, "shard"))
	}
	return nil
}

// worst orders shards by how much an operator has to do about them.
func worst(a, b api.ShardSummary) int {
	return cmp.Or(
		cmp.Compare(api.Severity(b.Health), api.Severity(a.Health)),
		compareBool(b.Paused, a.Paused),
		cmp.Compare(ahead(&b), ahead(&a)),
		compareTime(a.EngineTime, b.EngineTime),
		cmp.Compare(a.Shard, b.Shard),
	)
}

// ahead is how many events a shard has before it.
func ahead(s *api.ShardSummary) int64 {
	if s.Lag == nil {
		return s.Queued
	}
	return s.Queued + *s.Lag
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareTime orders times; one that is not known is later than all, for nothing is said by it.
func compareTime(a, b *time.Time) int {
	switch {
	case a == nil || b == nil:
		return compareBool(a == nil, b == nil)
	default:
		return a.Compare(*b)
	}
}

// latest is the engine time of the shard that is furthest; nil where none is known, or one shard stands alone.
func latest(rows []api.ShardSummary) (at *time.Time) {
	if len(rows) == 1 {
		return nil
	}
	for i := range rows {
		if t := rows[i].EngineTime; t != nil && (at == nil || t.After(*at)) {
			at = t
		}
	}
	return at
}

// behind is how far the engine time of a shard is behind that of the furthest.
func behind(s *api.ShardSummary, furthest *time.Time) string {
	if s.EngineTime == nil || furthest == nil {
		return "-"
	}
	return terminal.Short(furthest.Sub(*s.EngineTime))
}

// addShards tells in one line how the shards of a graph are, or which one it is that is described.
func addShards(t *terminal.Table, rows []api.ShardSummary) {
	switch len(rows) {
	case 0:
	case 1:
		t.Row("shard", terminal.Number(rows[0].Shard))
	default:
		t.Row("shards", fmt.Sprintf("%d: %s", len(rows), healths(rows)))
	}
}

// healths counts shards by health, the worst first.
func healths(rows []api.ShardSummary) string {
	count := map[string]int{}
	var words []string
	for i := range rows {
		if count[rows[i].Health]++; count[rows[i].Health] == 1 {
			words = append(words, rows[i].Health)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Compare(api.Severity(b), api.Severity(a)) })
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", count[word], word)
	}
	return strings.Join(words, ", ")
}

// shardsLive is how many shards of a graph are live, of how many; "-" where it is not dealt.
func shardsLive(g *api.GraphSummary) string {
	if len(g.Shards) == 0 {
		return "-"
	}
	live := 0
	for i := range g.Shards {
		if g.Shards[i].Health == "live" {
			live++
		}
	}
	return fmt.Sprintf("%d/%d", live, len(g.Shards))
}

// Refused is what shards say that have not carried out a command, a line for each reason.
func Refused(rows []api.ShardResult) (lines []string) {
	shards := map[string][]string{}
	var reasons []string
	for i := range rows {
		if rows[i].Done {
			continue
		}
		reason := rows[i].Code + ": " + rows[i].Detail
		if shards[reason] == nil {
			reasons = append(reasons, reason)
		}
		shards[reason] = append(shards[reason], terminal.Number(rows[i].Shard))
	}
	for i, reason := range reasons {
		if i == maxRefused {
			return append(lines, terminal.Plural(len(reasons)-i, "more reason")+"; -o json has all")
		}
		of := shards[reason]
		word := "shard "
		if len(of) > 1 {
			word = terminal.Plural(len(of), "shard") + ", "
		}
		lines = append(lines, word+terminal.Clip(strings.Join(of, ", "), maxNumbers)+": "+reason)
	}
	return lines
}
