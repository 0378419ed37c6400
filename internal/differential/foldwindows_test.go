package differential

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// instance is one window, with what each key has in it.
type instance struct {
	start, end int
	closed     bool
	of         map[string][]foldEvent
}

// windows folds naively: every result is computed anew from all events of its pane.
type windows struct {
	p        *foldPlan
	open     map[int]*instance // by start
	greatest int
}

// inOrder are the instances by their ends.
func (w *windows) inOrder() []*instance {
	var all []*instance
	for _, i := range w.open {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *instance) int { return cmp.Compare(a.end, b.end) })
	return all
}

func (w *windows) add(e foldEvent) (out []handed, late bool) {
	p := w.p
	watermark := w.greatest - p.lateness
	kept := watermark
	if p.late == "update" {
		kept -= p.retain
	}
	newest := e.at - mod(int(zero.Unix())+e.at, p.step) // windows are counted from 1970
	if newest+p.width <= kept {
		return nil, true
	}
	key := ""
	if p.keyed {
		key = e.k
	}
	var updated []*instance
	for start := newest; start+p.width > e.at && start+p.width > kept; start -= p.step {
		i := w.open[start]
		if i == nil {
			i = &instance{start: start, end: start + p.width, of: map[string][]foldEvent{}}
			i.closed = i.end <= watermark
			w.open[start] = i
		}
		i.of[key] = append(i.of[key], e)
		if i.closed {
			updated = append(updated, i)
		}
	}
	for _, i := range slices.Backward(updated) {
		out = append(out, w.hand(i, key, true)...)
	}
	w.greatest = max(w.greatest, e.at)
	return append(out, w.close(w.greatest-p.lateness)...), false
}

// close hands over what has ended at the watermark, and forgets what nothing changes any more.
func (w *windows) close(watermark int) (out []handed) {
	kept := watermark
	if w.p.late == "update" {
		kept -= w.p.retain
	}
	for _, i := range w.inOrder() {
		if !i.closed && i.end <= watermark {
			i.closed = true
			out = append(out, w.hand(i, "", false)...)
		}
		if i.closed && i.end <= kept {
			delete(w.open, i.start)
		}
	}
	return out
}

// hand is the boundaries of a window: of all its keys, or of the one that was updated.
func (w *windows) hand(i *instance, key string, update bool) (out []handed) {
	p := w.p
	keys := make([]string, 0, len(i.of))
	for k := range i.of {
		if p.all || !update || k == key {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	moment := func(second int) string {
		return zero.Add(time.Duration(second) * time.Second).Format("2006-01-02T15:04:05.000Z")
	}
	close := func(fields map[string]any) map[string]any {
		fields["start"], fields["end"] = moment(i.start), moment(i.end)
		if p.late == "update" {
			fields["update"] = update
		}
		return fields
	}
	rows, counts := []map[string]any{}, []int{}
	for _, k := range keys {
		row := map[string]any{}
		if p.keyed {
			row["key"], row["k"] = k, k
		}
		for _, name := range p.aggregates {
			row[name] = p.aggregate(name, i.of[k])
		}
		if !p.all {
			out = append(out, handed{text(close(row)), text(len(i.of[k]))})
			continue
		}
		rows, counts = append(rows, row), append(counts, len(i.of[k]))
	}
	if p.all {
		out = append(out, handed{text(close(map[string]any{"groups": rows})), text(counts)})
	}
	return out
}

// count takes an event into the windows of so many events, of which came are all of each key so far.
func (p *foldPlan) count(came map[string][]foldEvent, e foldEvent) []handed {
	row, key := map[string]any{}, ""
	if p.keyed {
		key, row["key"], row["k"] = e.k, e.k, e.k
	}
	came[key] = append(came[key], e)
	es := came[key]
	if len(es)%p.every() > 0 {
		return nil
	}
	es = es[max(0, len(es)-p.size):]
	for _, name := range p.aggregates {
		row[name] = p.aggregate(name, es)
	}
	return []handed{{text(row), text(len(es))}}
}

// aggregate computes one aggregate from all events of a pane, in the order in which they came.
func (p *foldPlan) aggregate(name string, es []foldEvent) any {
	byTime := slices.Clone(es)
	if p.kind != "count" { // which goes by arrival
		slices.SortStableFunc(byTime, func(a, b foldEvent) int { return cmp.Compare(a.at, b.at) })
	}
	least, greatest := byTime[0], byTime[0]
	total, notes := 0, []string{}
	xs := []int{}
	for _, e := range byTime {
		if e.x < least.x {
			least = e
		}
		if e.x > greatest.x {
			greatest = e
		}
		total, notes, xs = total+e.x, append(notes, e.note), append(xs, e.x)
	}
	slices.Sort(xs)
	last := byTime[len(byTime)-1]
	values := []json.RawMessage{}
	for _, e := range byTime[:min(2, len(byTime))] {
		values = append(values, p.value(e))
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(notes)))
	switch name {
	case "n":
		return len(es)
	case "total":
		return total
	case "avg":
		return json.RawMessage(number(float64(total) / float64(len(es))))
	case "low":
		return slices.Min(notes)
	case "high":
		return greatest.x
	case "short":
		return least.note
	case "long":
		return greatest.note
	case "early_note":
		return notes[0]
	case "late_note":
		return last.note
	case "some":
		return notes[:min(3, len(notes))]
	case "kinds":
		return len(distinct)
	case "half":
		return xs[(len(xs)+1)/2-1] // nearest rank: the least that half of them do not exceed
	case "dev":
		if len(es) < 2 {
			return 0
		}
		mean, squares := float64(total)/float64(len(es)), 0.0
		for _, x := range xs {
			squares += (float64(x) - mean) * (float64(x) - mean)
		}
		return json.RawMessage(number(math.Round(math.Sqrt(squares/float64(len(es)-1)) * 1000)))
	case "last_event":
		return p.value(last)
	case "events":
		return values
	case "least_event":
		return p.value(least)
	}
	panic(name)
}

func mod(a, b int) int { return ((a % b) + b) % b }
