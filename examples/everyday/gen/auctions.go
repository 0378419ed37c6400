package gen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

type bid struct {
	Auction  string `json:"auction"`
	Category string `json:"category"`
	Seller   string `json:"seller"`
	Price    int64  `json:"price"`
	At       int64  `json:"at"`
}

// Auctions asks, with queries 4 and 6 of Nexmark, whenever an auction closes with a bid of at least 800: what have the
// auctions of its category brought so far, and what the last 10 of its seller? And for each tenth of an hour and
// category: how many minutes had a sale, how many sales were there, and which was the highest? An auction lasts a
// minute.
func Auctions(size int) Task {
	rng := source("auctions")
	end := Base + 24*3_600_000
	items := []Item{{"bids", End, end, bid{End, End, End, 0, end}}}
	for i := range size {
		at := Base + int64(i)*1000 + rng.Int64N(900)
		n := rng.IntN(8)
		minute := (at - Base) / 60_000
		auction := fmt.Sprintf("%05d-%d", minute, n)
		items = append(items, Item{"bids", auction, at, bid{
			auction, "c" + strconv.Itoa(n%4), "s" + strconv.FormatInt((minute+int64(n))%5, 10), rng.Int64N(1000), at,
		}})
	}
	t := Task{Name: "auctions", Items: sorted(items), Within: 8 * time.Second}
	t.Want = answer(t.Name, t.Items)
	return t
}

func auctionsAnswer(items []Item) map[string][]any {
	best := map[string]bid{}
	for _, b := range values[bid](items) {
		if b.Auction != End && b.Price > best[b.Auction].Price {
			best[b.Auction] = b
		}
	}
	type tenth struct {
		category string
		start    int64
	}
	type sales struct {
		minutes           map[int64]bool
		sold, most, total int64
	}
	categories, sellers, tenths := map[string]*sales{}, map[string][]int64{}, map[tenth]*sales{}
	var byCategory, bySeller, byTenth []any
	for _, auction := range slices.Sorted(maps.Keys(best)) { // they begin with their minute: as they close
		b := best[auction]
		if b.Price < 800 {
			continue
		}
		c := categories[b.Category]
		if c == nil {
			c = &sales{}
			categories[b.Category] = c
		}
		c.sold, c.total = c.sold+1, c.total+b.Price
		byCategory = append(byCategory, fields("category", b.Category, "sold", c.sold, "total", c.total))

		prices := append(sellers[b.Seller], b.Price)
		prices = prices[max(0, len(prices)-10):]
		sellers[b.Seller] = prices
		var total int64
		for _, p := range prices {
			total += p
		}
		bySeller = append(bySeller, fields("seller", b.Seller, "sold", len(prices), "total", total))

		at := tenth{b.Category, b.At / 360_000 * 360_000}
		if tenths[at] == nil {
			tenths[at] = &sales{minutes: map[int64]bool{}}
		}
		x := tenths[at]
		x.minutes[b.At/60_000] = true
		x.sold, x.most = x.sold+1, max(x.most, b.Price)
	}
	for _, at := range slices.SortedFunc(maps.Keys(tenths), func(a, b tenth) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.category, b.category))
	}) {
		x := tenths[at]
		byTenth = append(byTenth, fields("category", at.category, "start", stamp(at.start),
			"minutes", len(x.minutes), "sold", x.sold, "most", x.most))
	}
	return map[string][]any{"categories": byCategory, "sellers": bySeller, "tenths": byTenth}
}
