package examples

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
)

// TestAirportDelays holds M3 on real events: the windows per airport are those of a plain
// computation over the whole file, whatever the order in which the flights arrive within
// the lateness.
func TestAirportDelays(t *testing.T) {
	atRoot(t)
	d, err := graphd.ReadDeclaration("examples/airport-delays/airport_delays.yaml")
	if err != nil {
		t.Fatal(err)
	}
	flights := readFlights(t, "examples/flights/flights.ndjson")
	want := plainAirports(flights)
	for seed := range uint64(4) {
		path := "examples/flights/flights.ndjson"
		if seed > 0 {
			path = outOfOrder(t, flights, seed)
		}
		var out bytes.Buffer
		stats, err := d.Run(context.Background(), graphd.RunConfig{
			Inputs: map[string]string{"flights": path}, Stdout: &out,
		})
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != want || stats.DeadLetters != 0 {
			at := firstDifference(out.String(), want)
			t.Fatalf("order %d: %d dead letters; it differs from a plain computation at byte %d:\n%.300s\n%.300s", seed,
				stats.DeadLetters, at, out.String()[at:], want[at:])
		}
	}
}

type flight struct {
	line                string
	At                  time.Time
	Origin, Destination string
	Delay               *float64 `json:"delay_min"`
}

func readFlights(t *testing.T, path string) (all []flight) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := flight{line: line}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// outOfOrder writes the flights in another order, none of them after one that is five
// minutes ahead of it. Flights of one instant stay in theirs, which is what ties go by.
func outOfOrder(t *testing.T, flights []flight, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	arrives := map[time.Time]time.Time{}
	for _, f := range flights {
		if _, ok := arrives[f.At]; !ok {
			arrives[f.At] = f.At.Add(time.Duration(r.Int64N(int64(5 * time.Minute))))
		}
	}
	moved := slices.Clone(flights)
	slices.SortStableFunc(moved, func(a, b flight) int { return arrives[a.At].Compare(arrives[b.At]) })
	var text strings.Builder
	for _, f := range moved {
		text.WriteString(f.line)
	}
	path := filepath.Join(t.TempDir(), "flights.ndjson")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plainAirports computes what the example should print, with nothing of graphd in it.
func plainAirports(flights []flight) string {
	type place struct {
		end    time.Time
		origin string
	}
	windows := map[place][]flight{}
	for _, f := range flights {
		if f.Delay == nil {
			continue
		}
		for end := f.At.Truncate(10 * time.Minute).Add(time.Hour); end.After(f.At); end = end.Add(-10 * time.Minute) {
			windows[place{end, f.Origin}] = append(windows[place{end, f.Origin}], f)
		}
	}
	places := make([]place, 0, len(windows))
	for p := range windows {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(a.end.Compare(b.end), strings.Compare(a.origin, b.origin))
	})
	var out strings.Builder
	for epoch, p := range places {
		in := windows[p]
		sum, low, worst := 0.0, in[0], in[0]
		for _, f := range in {
			sum += *f.Delay
			if *f.Delay < *low.Delay {
				low = f
			}
			if *f.Delay > *worst.Delay {
				worst = f
			}
		}
		const layout = "2006-01-02T15:04:05.000Z"
		mean := number(sum / float64(len(in)))
		fmt.Fprintf(&out, `{"epoch":%d,"key":%q,"output":"windows","value":{"end":"%s","key":%q,"mean_delay":%s,`+
			`"n":%d,"origin":%q,"spread":%s,"start":"%s","worst":%s}}`+"\n",
			epoch+1, p.origin, p.end.UTC().Format(layout), p.origin, mean, len(in), p.origin,
			number(*worst.Delay-*low.Delay),
			p.end.Add(-time.Hour).UTC().Format(layout), sorted(worst.line))
		if len(in) >= 5 && sum/float64(len(in)) > 45 {
			fmt.Fprintf(&out, `{"epoch":%d,"key":%q,"output":"alerts","value":{"airport":%q,"mean_delay":%s,"n":%d,`+
				`"until":"%s","worst":%q}}`+"\n",
				epoch+1, p.origin, p.origin, mean, len(in), p.end.UTC().Format(layout), worst.Destination)
		}
	}
	return out.String()
}

// sorted is a JSON object with its names in order.
func sorted(line string) string {
	var m map[string]any
	_ = json.Unmarshal([]byte(line), &m)
	text, _ := json.Marshal(m)
	return string(text)
}
