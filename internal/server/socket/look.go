package socket

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// look is what one look has found: of one graph, or the rows of all of a tenant by their names. It does not change, and
// all who watch share it.
type look struct {
	at      time.Time // when it was found: behind the look, whose counters are of its end
	graph   *api.GraphSummary
	rows    []row
	missing []api.Missing
	seed    maphash.Seed
}

// row is a graph among all.
type row struct {
	api.GraphRow
	hash uint64 // of what is told: what differs is told again
	// known says that these are the graph's counters, of this incarnation of it, and not what is shown of one that has
	// not answered or that nobody runs.
	known       bool
	incarnation int64
	busy        float64
}

// lookOf makes rows of a list, with what has been done since the look before, which may be nil.
func lookOf(list *api.GraphList, before *look, at time.Time) (*look, error) {
	is := &look{at: at, rows: make([]row, len(list.Items)), missing: list.Missing}
	if before == nil {
		before = &look{seed: maphash.MakeSeed()}
	}
	is.seed = before.seed
	untold := map[string]bool{}
	for i := range list.Missing {
		for _, g := range list.Missing[i].Graphs {
			untold[g] = true
		}
	}
	for i := range list.Items {
		sum := &list.Items[i]
		is.rows[i] = row{GraphRow: api.RowOf(sum), incarnation: sum.Incarnation, busy: sum.Cost.BusySeconds,
			known: !untold[sum.Graph] && sum.Health != standby}
	}
	slices.SortFunc(is.rows, func(a, b row) int { return cmp.Compare(a.Graph, b.Graph) })
	k := 0
	for i := range is.rows {
		r := &is.rows[i]
		for k < len(before.rows) && before.rows[k].Graph < r.Graph {
			k++
		}
		if k < len(before.rows) && before.rows[k].Graph == r.Graph {
			r.since(&before.rows[k], at.Sub(before.at).Seconds())
		}
		raw, err := wire.Encode(&r.GraphRow)
		if err != nil {
			return nil, fmt.Errorf("encode the row of graph %q: %w", r.Graph, err)
		}
		r.hash = maphash.Bytes(is.seed, raw)
	}
	return is, nil
}

// standby is the health of a graph that this daemon does not run.
const standby = "standby"

// since finds the rates. Counters begin anew where a graph does, or goes to another daemon: then nothing is known of
// them until the next look.
func (r *row) since(was *row, passed float64) {
	if !r.known || !was.known || r.incarnation != was.incarnation || passed <= 0 ||
		r.Counters.Received < was.Counters.Received || r.busy < was.busy {
		return
	}
	r.EventsPerSecond = rounded(float64(r.Counters.Received-was.Counters.Received)/passed, 100)
	r.Cores = rounded((r.busy-was.busy)/passed, 10000)
}

// rounded is a rate as finely as people tell two apart.
func rounded(x, parts float64) *float64 {
	x = math.Round(x*parts) / parts
	return &x
}
