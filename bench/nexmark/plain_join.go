package main

import (
	"cmp"
	"maps"
	"slices"
)

func plain3(p *plain) {
	local := map[int64][]byte{}
	p.each("person", func(e event) {
		if s := e.text("state"); s == "OR" || s == "ID" || s == "CA" {
			local[e.whole("id")] = object(nil).begin().from(e, "name", "city", "state")
		}
	})
	p.each("auction", func(a event) {
		if who := local[a.whole("seller")]; who != nil && a.whole("category") == 10 {
			p.out(append(p.buf[:0], who...).whole("id", a.whole("id")))
		}
	})
}

// A sale is an auction with its highest bid.
type sale struct {
	id, begun, expires, category, seller, price int64
	auction, bid                                []byte // as they came, where that is asked for
}

// sales are the auctions with a bid in time, in the order in which they close; of those that close at once, by number.
func (p *plain) sales(whole bool) []*sale {
	all := map[int64]*sale{}
	p.each("auction", func(a event) {
		s := &sale{id: a.whole("id"), begun: a.at(), expires: a.whole("expires"), category: a.whole("category"),
			seller: a.whole("seller"), price: -1}
		if whole {
			s.auction = a.copied()
		}
		all[s.id] = s
	})
	p.each("bid", func(b event) {
		s, price := all[b.whole("auction")], b.whole("price")
		if s == nil || b.at() < s.begun || b.at() > s.expires || price <= s.price {
			return
		}
		s.price = price
		if whole {
			s.bid = b.v.MarshalTo(s.bid[:0])
		}
	})
	maps.DeleteFunc(all, func(_ int64, s *sale) bool { return s.price < 0 })
	return slices.SortedFunc(maps.Values(all), func(a, b *sale) int {
		return cmp.Or(cmp.Compare(a.expires, b.expires), cmp.Compare(a.id, b.id))
	})
}

func plain4(p *plain) {
	sum, n := map[int64]int64{}, map[int64]int64{}
	for _, s := range p.sales(false) {
		sum[s.category] += s.price
		n[s.category]++
		p.out(p.row().whole("category", s.category).
			real("average", float64(sum[s.category])/float64(n[s.category])))
	}
}

func plain6(p *plain) {
	last := map[int64][]int64{}
	for _, s := range p.sales(false) {
		prices := append(last[s.seller], s.price)
		prices = prices[max(0, len(prices)-10):]
		last[s.seller] = prices
		var sum int64
		for _, price := range prices {
			sum += price
		}
		p.out(p.row().whole("seller", s.seller).real("average", float64(sum)/float64(len(prices))))
	}
}

func plain8(p *plain) {
	type seen struct{ id, window int64 }
	sellers := map[seen]int64{}
	p.each("auction", func(a event) { sellers[seen{a.whole("seller"), a.at() / 10_000}]++ })
	p.each("person", func(e event) {
		if n := sellers[seen{e.whole("id"), e.at() / 10_000}]; n > 0 {
			p.out(p.row().from(e, "id", "name").stamp("start", e.at()/10_000*10_000).whole("auctions", n))
		}
	})
}

func plain9(p *plain) {
	for _, s := range p.sales(true) {
		p.out(p.row().raw("auction", s.auction).raw("bid", s.bid))
	}
}

func plain20(p *plain) {
	ten := map[int64][]byte{}
	p.each("auction", func(a event) {
		if a.whole("category") == 10 {
			ten[a.whole("id")] = a.copied()
		}
	})
	p.each("bid", func(b event) {
		if a := ten[b.whole("auction")]; a != nil {
			p.buf = b.v.MarshalTo(append(p.buf[:0], `{"bid":`...))
			p.out(p.buf.raw("auction", a))
		}
	})
}

func plain23(p *plain) {
	persons, begun := map[int64][]byte{}, map[int64][][]byte{}
	p.each("person", func(e event) {
		persons[e.whole("id")] = object(nil).begin().from(e, "id", "name", "city", "state").done()
	})
	p.each("auction", func(a event) {
		seller := a.whole("seller")
		begun[seller] = append(begun[seller], object(nil).begin().from(a, "id", "itemName", "seller").done())
	})
	var bid object
	p.each("bid", func(b event) {
		who := b.whole("bidder")
		if persons[who] == nil || begun[who] == nil {
			return
		}
		bid = bid.begin().from(b, "auction", "bidder", "price").done()
		for _, a := range begun[who] {
			p.out(p.row().raw("bid", bid).raw("person", persons[who]).raw("auction", a))
		}
	})
}
