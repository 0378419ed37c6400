package main

import (
	"cmp"
	"maps"
	"slices"
)

// windows has what belongs to each window, by its beginning.
type windows[T any] map[int64]*T

// at is the window of a time.
func (w windows[T]) at(ms, size int64) *T {
	start := ms / size * size
	if w[start] == nil {
		w[start] = new(T)
	}
	return w[start]
}

const day = int64(24 * 3_600_000)

func plain5(p *plain) {
	all := map[int64]map[int64]int64{} // bids by the end of the window and by auction
	p.each("bid", func(b event) {
		for end := b.at()/2_000*2_000 + 2_000; end <= b.at()+10_000; end += 2_000 {
			if all[end] == nil {
				all[end] = map[int64]int64{}
			}
			all[end][b.whole("auction")]++
		}
	})
	for _, end := range slices.Sorted(maps.Keys(all)) {
		most := slices.Max(slices.Collect(maps.Values(all[end])))
		var hot [][]byte
		for _, auction := range slices.Sorted(maps.Keys(all[end])) {
			if all[end][auction] == most {
				hot = append(hot, object(nil).begin().whole("auction", auction).whole("num", most).done())
			}
		}
		p.out(p.row().stamp("end", end).list("hot", hot))
	}
}

func plain7(p *plain) {
	type highest struct {
		price int64
		bids  [][]byte
	}
	all, names := windows[highest]{}, bidFields()
	p.each("bid", func(b event) {
		w, price := all.at(b.at(), 10_000), b.whole("price")
		if price > w.price {
			w.price, w.bids = price, nil
		}
		if price == w.price {
			w.bids = append(w.bids, object(nil).begin().from(b, names...).done())
		}
	})
	for _, start := range slices.Sorted(maps.Keys(all)) {
		p.out(p.row().stamp("end", start+10_000).list("bids", all[start].bids))
	}
}

func plain11(p *plain) {
	type session struct{ first, last, n int64 }
	open := map[int64]*session{}
	end := func(bidder int64, s *session) {
		p.out(p.row().whole("bidder", bidder).whole("bids", s.n).stamp("start", s.first).stamp("end", s.last+10_000))
	}
	p.each("bid", func(b event) {
		bidder := b.whole("bidder")
		s := open[bidder]
		if s == nil || b.at()-s.last >= 10_000 {
			if s != nil {
				end(bidder, s)
			}
			s = &session{first: b.at()}
			open[bidder] = s
		}
		s.last = b.at()
		s.n++
	})
	for _, bidder := range slices.Sorted(maps.Keys(open)) {
		end(bidder, open[bidder])
	}
}

// plain12 goes by when bids arrive: one each millisecond, in a run over files.
func plain12(p *plain) {
	all := windows[map[int64]int64]{}
	n := int64(0)
	p.each("bid", func(b event) {
		w := all.at(n, 10_000)
		if *w == nil {
			*w = map[int64]int64{}
		}
		(*w)[b.whole("bidder")]++
		n++
	})
	for _, w := range all {
		for bidder, bids := range *w {
			p.out(p.row().whole("bidder", bidder).whole("bids", bids))
		}
	}
}

func plain18(p *plain) {
	type pair struct{ bidder, auction int64 }
	last := map[pair][]byte{}
	p.each("bid", func(b event) {
		k := pair{b.whole("bidder"), b.whole("auction")}
		last[k] = b.v.MarshalTo(last[k][:0])
	})
	for _, bid := range last {
		p.out(p.row().raw("value", bid))
	}
}

func plain19(p *plain) {
	type priced struct {
		price int64
		bid   []byte
	}
	all := windows[map[int64][]priced]{}
	p.each("bid", func(b event) {
		w, auction, price := all.at(b.at(), day), b.whole("auction"), b.whole("price")
		if *w == nil {
			*w = map[int64][]priced{}
		}
		top := (*w)[auction]
		if len(top) == 10 && price <= top[9].price {
			return
		}
		i, _ := slices.BinarySearchFunc(top, price, func(t priced, price int64) int {
			if t.price == price {
				return -1 // behind equal ones
			}
			return cmp.Compare(price, t.price)
		})
		top = slices.Insert(top, i, priced{price, b.copied()})
		(*w)[auction] = top[:min(10, len(top))]
	})
	for start, w := range all {
		for auction, top := range *w {
			var bids [][]byte
			for _, t := range top {
				bids = append(bids, t.bid)
			}
			p.out(p.row().whole("auction", auction).stamp("start", start).list("top", bids))
		}
	}
}
