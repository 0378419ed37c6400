package grid

import (
	"math/rand/v2"
	"testing"
	"time"
)

// M3: windows of local time. In 2026 Zurich's clock goes forward on March 29 at 02:00 and
// back on October 25 at 03:00.
func TestM3LocalWindows(t *testing.T) {
	t.Parallel()
	zurich, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		size       time.Duration
		at         string
		start, end string
	}{
		"a common day": {24 * time.Hour, "2026-06-10T23:30:00Z", "2026-06-10T22:00:00Z",
			"2026-06-11T22:00:00Z"},
		"midnight belongs to the new day": {24 * time.Hour, "2026-06-10T22:00:00Z", "2026-06-10T22:00:00Z",
			"2026-06-11T22:00:00Z"},
		"a day of 23 hours": {24 * time.Hour, "2026-03-29T10:00:00Z", "2026-03-28T23:00:00Z",
			"2026-03-29T22:00:00Z"},
		"a day of 25 hours": {24 * time.Hour, "2026-10-25T10:00:00Z", "2026-10-24T22:00:00Z",
			"2026-10-25T23:00:00Z"},
		"a quarter of that day": {6 * time.Hour, "2026-10-25T04:30:00Z", "2026-10-24T22:00:00Z",
			"2026-10-25T05:00:00Z"},
		"the hour before the clock goes back": {
			time.Hour, "2026-10-24T23:59:59Z", "2026-10-24T23:00:00Z", "2026-10-25T00:00:00Z",
		},
		"the hour that comes twice": {
			time.Hour, "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z",
		},
		"its second coming": {
			time.Hour, "2026-10-25T01:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z",
		},
		"the hour that is skipped": {
			time.Hour, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
		},
		"the hour before it": {
			time.Hour, "2026-03-29T00:59:59Z", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z",
		},
	} {
		g := New(c.size, c.size, zurich)
		at, _ := time.Parse(time.RFC3339, c.at)
		start, end := g.Window(g.Latest(at.UnixNano()))
		if got := time.Unix(0, start).UTC().Format(time.RFC3339) + " " + time.Unix(0,
			end).UTC().Format(time.RFC3339); got != c.start+" "+c.end {
			t.Errorf("%s: got %s, want %s %s", name, got, c.start, c.end)
		}
	}
}

// Windows cover every instant once, in order, in zones with all kinds of changes.
func TestWindowsCoverTime(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for _, name := range []string{"UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
		"Pacific/Apia", "Asia/Manila", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []time.Duration{time.Minute, 7 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
			168 * time.Hour} {
			g := New(size, size, zone)
			for range 300 {
				moment := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC).Add(
					time.Duration(r.Int64N(int64(150 * 365 * 24 * time.Hour))))
				if change, _ := moment.In(zone).ZoneBounds(); !change.IsZero() && r.IntN(4) > 0 {
					// where the clock is set
					moment = change.Add(time.Duration(r.Int64N(int64(4*time.Hour))) - 2*time.Hour)
				}
				at := moment.UnixNano()
				n := g.Latest(at)
				start, end := g.Window(n)
				_, before := g.Window(n - 1)
				if after, _ := g.Window(n + 1); at < start || at >= end || before != start || after != end {
					t.Fatalf("%s %v: %v is in [%v, %v); the one before ends %v, the next begins %v", name, size,
						time.Unix(0, at).UTC(), time.Unix(0, start).UTC(), time.Unix(0, end).UTC(),
						time.Unix(0, before).UTC(), time.Unix(0, after).UTC())
				}
				_, offset := time.Unix(0, start).In(zone).Zone()
				if reads := start + int64(offset)*int64(time.Second); reads < n*int64(size) {
					t.Fatalf("%s %v: at the beginning %v of a window the clock has not reached it", name, size,
						time.Unix(0, start).In(zone))
				}
				if g.find(at) != n {
					t.Fatalf("%s %v: the remembered window is another", name, size)
				}
			}
		}
	}
}
