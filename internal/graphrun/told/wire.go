package told

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// List is a list that is never null on the wire.
func List(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// JSON encodes what is known to be encodable: decoded documents.
func JSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// stopped is who has stopped a part as it stands on the wire.
func stopped(s *reactor.Stopped) *api.Stopped {
	if s == nil {
		return nil
	}
	return &api.Stopped{By: s.By, Since: s.At}
}

// Positions is a list of positions for people.
func Positions(ps []boundary.Position) string {
	if len(ps) == 0 {
		return ""
	}
	s := ps[0].String()
	for _, p := range ps[1:] {
		s += "," + p.String()
	}
	return s
}

// DescribeGaps is a list of gaps for people.
func DescribeGaps(gaps []accumulator.Gap) string {
	if len(gaps) == 0 {
		return "nothing is missing any more"
	}
	var said []string
	for _, g := range Gaps(gaps) {
		to, events := "nowhere", "an unknown number of events"
		if g.To != nil {
			to = *g.To
		}
		if g.Events != nil {
			events = fmt.Sprintf("%d events", *g.Events)
		}
		said = append(said, fmt.Sprintf("%s to %s, %s (%s)", g.From, to, events, g.Reason))
	}
	return strings.Join(said, "; ")
}

// Gaps are gaps as they stand on the wire.
// They are in the order of their streams, and of partitions by their numbers.
func Gaps(gaps []accumulator.Gap) []api.Gap {
	gaps = slices.SortedStableFunc(slices.Values(gaps), func(a, b accumulator.Gap) int {
		an, ap := partition(a.From.Stream)
		bn, bp := partition(b.From.Stream)
		return cmp.Or(cmp.Compare(an, bn), cmp.Compare(ap, bp))
	})
	out := make([]api.Gap, len(gaps))
	for i := range gaps {
		g := &gaps[i]
		stream, _, _ := strings.Cut(g.From.Stream, "#")
		out[i] = api.Gap{Stream: stream, From: g.From.String(), Reason: g.Reason}
		if g.Known {
			out[i].Events = &g.Events
		}
		to := "start"
		if !g.To.IsZero() {
			to = g.To.String()
		}
		if g.Reason != "partition_gone" {
			out[i].To = &to
		}
	}
	return out
}

// partition splits a stream such as orders/12 into its name and number, without what it says of a generation.
func partition(stream string) (name string, number int) {
	stream, _, _ = strings.Cut(stream, "#")
	if i := strings.LastIndexByte(stream, '/'); i >= 0 {
		if n, err := strconv.Atoi(stream[i+1:]); err == nil {
			return stream[:i], n
		}
	}
	return stream, 0
}
