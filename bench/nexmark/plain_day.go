package main

import (
	"fmt"
	"time"
)

// ranks counts bids by the rank of their price: 0 for all of them.
type ranks struct {
	bids              [4]int64
	bidders, auctions [4]map[int64]struct{}
	minute            string
	least, most, sum  int64
}

func rankOf(price int64) int {
	switch {
	case price < 10_000:
		return 1
	case price < 1_000_000:
		return 2
	default:
		return 3
	}
}

func (r *ranks) count(price int64) {
	r.bids[0]++
	r.bids[rankOf(price)]++
}

// note notes who has bid, and for what.
func (r *ranks) note(price, bidder, auction int64) {
	for _, rank := range []int{0, rankOf(price)} {
		if r.bidders[rank] == nil {
			r.bidders[rank], r.auctions[rank] = map[int64]struct{}{}, map[int64]struct{}{}
		}
		r.bidders[rank][bidder] = struct{}{}
		r.auctions[rank][auction] = struct{}{}
	}
}

// tell writes how many there were of each rank.
func tell(o object, what string, n func(rank int) int64) object {
	o = o.whole("total_"+what, n(0))
	for rank := 1; rank <= 3; rank++ {
		o = o.whole(fmt.Sprintf("rank%d_%s", rank, what), n(rank))
	}
	return o
}

func (r *ranks) tell(o object) object {
	return tell(o, "bids", func(rank int) int64 { return r.bids[rank] })
}

func (r *ranks) tellDistinct(o object) object {
	o = tell(o, "bidders", func(rank int) int64 { return int64(len(r.bidders[rank])) })
	return tell(o, "auctions", func(rank int) int64 { return int64(len(r.auctions[rank])) })
}

func plain15(p *plain) {
	all := windows[ranks]{}
	p.each("bid", func(b event) {
		w, price := all.at(b.at(), day), b.whole("price")
		w.count(price)
		w.note(price, b.whole("bidder"), b.whole("auction"))
	})
	for start, w := range all {
		p.out(w.tellDistinct(w.tell(p.row().stamp("start", start))))
	}
}

func plain16(p *plain) {
	all := windows[map[string]*ranks]{}
	p.each("bid", func(b event) {
		w, channel, price := all.at(b.at(), day), b.text("channel"), b.whole("price")
		if *w == nil {
			*w = map[string]*ranks{}
		}
		r := (*w)[channel]
		if r == nil {
			r = &ranks{}
			(*w)[channel] = r
		}
		r.count(price)
		r.note(price, b.whole("bidder"), b.whole("auction"))
		r.minute = max(r.minute, time.UnixMilli(b.at()).UTC().Format("15:04"))
	})
	for start, w := range all {
		for channel, r := range *w {
			o := p.row().text("channel", channel).stamp("start", start).text("minute", r.minute)
			p.out(r.tellDistinct(r.tell(o)))
		}
	}
}

func plain17(p *plain) {
	all := windows[map[int64]*ranks]{}
	p.each("bid", func(b event) {
		w, auction, price := all.at(b.at(), day), b.whole("auction"), b.whole("price")
		if *w == nil {
			*w = map[int64]*ranks{}
		}
		r := (*w)[auction]
		if r == nil {
			r = &ranks{least: price}
			(*w)[auction] = r
		}
		r.count(price)
		r.least, r.most, r.sum = min(r.least, price), max(r.most, price), r.sum+price
	})
	for start, w := range all {
		for auction, r := range *w {
			o := r.tell(p.row().whole("auction", auction).stamp("start", start)).whole("min_price", r.least)
			p.out(o.whole("max_price", r.most).real("avg_price", float64(r.sum)/float64(r.bids[0])).
				whole("sum_price", r.sum))
		}
	}
}
