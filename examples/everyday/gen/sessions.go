package gen

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

type click struct {
	User string `json:"user"`
	Page string `json:"page"`
	At   int64  `json:"at"`
}

const sessionGap = 30 * 60_000

// Sessions asks for the sessions of clicks of each user, which end when no click has followed for 30 minutes. Some
// pauses are within seconds of that, so that who goes by the order of arrival is wrong in disorder.
func Sessions(size int) Task {
	rng := source("sessions")
	end := Base + 48*3_600_000
	items := []Item{{"clicks", End, end, click{End, "/", end}}}
	users := max(size/40, 5)
	for u := range users {
		name := fmt.Sprintf("u%04d", u)
		at := Base + rng.Int64N(sessionGap)
		for range size / users {
			items = append(items, Item{"clicks", name, at, click{name, fmt.Sprintf("/%d", rng.IntN(50)), at}})
			switch rng.IntN(20) {
			case 0: // nearly a new session
				at += sessionGap - 1 - rng.Int64N(15_000)
			case 1: // hardly one
				at += sessionGap + 1 + rng.Int64N(15_000)
			case 2, 3:
				at += sessionGap + 60_000 + rng.Int64N(3_600_000)
			default:
				at += 1000 + rng.Int64N(240_000)
			}
		}
	}
	t := Task{Name: "sessions", Items: sorted(items), Within: 20 * time.Second, Free: true}
	t.Want = answer(t.Name, t.Items)
	return t
}

func sessionsAnswer(items []Item) []any {
	byUser := map[string][]click{}
	for _, c := range values[click](items) {
		byUser[c.User] = append(byUser[c.User], c)
	}
	delete(byUser, End)
	var of []any
	for _, user := range slices.Sorted(maps.Keys(byUser)) {
		clicks, first := byUser[user], 0
		for i, c := range clicks {
			if i+1 == len(clicks) || clicks[i+1].At-c.At >= sessionGap {
				of = append(of, map[string]any{
					"key": user, "user": user, "start": stamp(clicks[first].At), "end": stamp(c.At + sessionGap),
					"n": i + 1 - first,
				})
				first = i + 1
			}
		}
	}
	return of
}
