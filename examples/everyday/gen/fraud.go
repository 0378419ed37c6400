package gen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

type payment struct {
	ID       string `json:"id"`
	Card     string `json:"card"`
	Merchant string `json:"merchant"`
	Amount   int64  `json:"amount"`
	At       string `json:"at"`
	ms       int64
}

type merchant struct {
	Merchant string `json:"merchant"`
	Risk     string `json:"risk"`
	At       string `json:"at"`
	ms       int64
}

const (
	fraudMerchants = 40
	// quietRisk is how far from a payment its merchant's risk does not change: more than a shuffle moves it, and more
	// than two files that are read side by side are apart.
	quietRisk = 30_000
)

// Fraud asks: which payments make more than 4 of their card in less than 60 s and are over 3 times the mean of the
// card's newest 20, with the risk that their merchant had at that time?
func Fraud(size int) Task {
	rng := source("fraud")
	span := int64(600_000)
	risks := riskChanges(rng, span)
	cards := max(size/27, 10)
	var of []payment
	pay := func(card int, at, amount int64) {
		of = append(of, payment{Card: fmt.Sprintf("c%04d", card), Amount: amount, ms: Base + at/2*2})
	}
	usual := func(card int) int64 { return int64(1000+card%7*500) + rng.Int64N(600) }
	for len(of) < size*8/10 {
		pay(rng.IntN(cards), rng.Int64N(span), usual(rng.IntN(cards)))
	}
	for i := 0; len(of) < size; i++ {
		card, at := rng.IntN(cards), rng.Int64N(span-70_000)
		switch i % 4 {
		case 0: // a burst that ends with a large payment
			for range 5 + rng.IntN(4) {
				pay(card, at, usual(card))
				at += 1000 + rng.Int64N(6000)
			}
			pay(card, at, usual(card)*(5+rng.Int64N(6)))
		case 1: // a burst without one
			for range 7 {
				pay(card, at, usual(card))
				at += rng.Int64N(7000)
			}
		case 2: // a large payment alone
			pay(card, at, usual(card)*9)
		case 3: // the fifth comes exactly when the first is 60 s old, or 2 ms before
			for range 4 {
				pay(card, at, usual(card))
				at += 15_000
			}
			pay(card, at-int64(i/4%2)*2, usual(card)*8)
		}
	}
	t := Task{Name: "fraud", Items: fraudItems(rng, of, risks), Within: 5 * time.Second}
	t.Want = answer(t.Name, t.Items)
	return t
}

func riskChanges(rng *rand.Rand, span int64) []merchant {
	levels := []string{"low", "medium", "high"}
	var of []merchant
	for m := range fraudMerchants {
		for at := int64(-59_999); at < span; at += 40_000 + rng.Int64N(span/2)/2*2 {
			of = append(of, merchant{fmt.Sprintf("m%02d", m), levels[rng.IntN(3)], stamp(Base + at), Base + at})
		}
	}
	return of
}

// fraudItems gives payments ids, merchants whose risk stands still, and each card times of its own.
func fraudItems(rng *rand.Rand, of []payment, risks []merchant) []Item {
	slices.SortStableFunc(of, func(a, b payment) int { return int(a.ms - b.ms) })
	last := map[string]int64{}
	var items []Item
	for i, p := range of {
		if p.ms <= last[p.Card] {
			p.ms = last[p.Card] + 2
		}
		last[p.Card] = p.ms
		p.ID, p.At = fmt.Sprintf("p%06d", i), stamp(p.ms)
		for p.Merchant == "" || restless(risks, p) {
			p.Merchant = fmt.Sprintf("m%02d", rng.IntN(fraudMerchants))
		}
		items = append(items, Item{"payments", p.Card, p.ms, p})
	}
	for _, m := range risks {
		items = append(items, Item{"merchants", m.Merchant, m.ms, m})
	}
	return sorted(items)
}

func restless(risks []merchant, p payment) bool {
	return slices.ContainsFunc(risks, func(m merchant) bool {
		return m.Merchant == p.Merchant && m.ms > p.ms-quietRisk && m.ms < p.ms+quietRisk
	})
}

func fraudAnswer(items []Item) []any {
	risk := map[string]string{}
	seen := map[string][]payment{}
	var alerts []any
	for _, it := range items {
		if m, ok := it.Value.(merchant); ok {
			risk[m.Merchant] = m.Risk
			continue
		}
		p, ok := it.Value.(payment)
		if !ok {
			continue
		}
		of := append(seen[p.Card], p)
		seen[p.Card] = of
		recent := 0
		for _, q := range of {
			if p.ms-q.ms < 60_000 {
				recent++
			}
		}
		var sum, n int64
		for _, q := range of[max(0, len(of)-20):] {
			sum, n = sum+q.Amount, n+1
		}
		if recent > 4 && p.Amount*n > 3*sum {
			alerts = append(alerts, map[string]any{
				"id": p.ID, "card": p.Card, "merchant": p.Merchant, "risk": risk[p.Merchant], "recent": recent,
			})
		}
	}
	return alerts
}
