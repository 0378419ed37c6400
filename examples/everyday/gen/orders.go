package gen

import (
	"fmt"
	"time"
)

type order struct {
	Order  string `json:"order"`
	Amount int64  `json:"amount"`
	At     int64  `json:"at"`
}

type paid struct {
	Payment string `json:"payment"`
	Order   string `json:"order"`
	At      int64  `json:"at"`
}

const quarter = 15 * 60_000

// Orders asks: which orders are paid within 15 minutes and by which payment, which are not, and which payments are
// stray: of no order, too late, or the second of theirs?
func Orders(size int) Task {
	rng := source("orders")
	end := Base + 24*3_600_000
	items := []Item{{"orders", End, end, order{End, 0, end}}, {"payments", End, end + 1, paid{End, End, end + 1}}}
	n := 0
	pay := func(id string, at int64) {
		n++
		items = append(items, Item{"payments", id, at, paid{fmt.Sprintf("pay-%06d", n), id, at}})
	}
	for i := range size / 2 {
		id, at := fmt.Sprintf("o-%06d", i), Base+rng.Int64N(3*3_600_000)
		if i%50 == 0 {
			pay("x"+id, at) // of no order
		}
		items = append(items, Item{"orders", id, at, order{id, 100 + rng.Int64N(9900), at}})
		switch soon := at + 30_000 + rng.Int64N(quarter-60_000); rng.IntN(20) {
		case 0: // not paid
		case 1, 2: // too late
			pay(id, at+quarter+30_000+rng.Int64N(20*60_000))
		case 3: // twice
			pay(id, soon)
			pay(id, soon+30_000+rng.Int64N(30*60_000))
		default:
			pay(id, soon)
		}
	}
	t := Task{Name: "orders", Items: sorted(items), Within: 10 * time.Second, Free: true, Some: true}
	t.Want = answer(t.Name, t.Items)
	return t
}

func ordersAnswer(items []Item) map[string][]any {
	payments := map[string][]paid{}
	for _, p := range values[paid](items) {
		payments[p.Order] = append(payments[p.Order], p)
	}
	var matched, unpaid, stray []any
	taken := map[string]bool{}
	for _, o := range values[order](items) {
		if o.Order == End {
			continue
		}
		for _, p := range payments[o.Order] {
			if p.At >= o.At && p.At <= o.At+quarter {
				matched = append(matched, fields("order", o.Order, "left", o, "right", p))
				taken[p.Payment] = true
				break
			}
		}
		if len(payments[o.Order]) == 0 || !taken[payments[o.Order][0].Payment] {
			unpaid = append(unpaid, fields("order", o.Order, "left", o, "right", nil))
		}
	}
	for _, p := range values[paid](items) {
		if p.Order != End && !taken[p.Payment] {
			stray = append(stray, fields("order", p.Order, "right", p))
		}
	}
	return map[string][]any{"matched": matched, "unpaid": unpaid, "stray": stray}
}
