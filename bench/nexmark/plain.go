package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A plain program answers one query by a loop over the files, and knows nothing of graphd.
type plain struct {
	dir string
	put func(line []byte) error
	buf object
	err error // the first
}

// each reads a stream to its end.
func (p *plain) each(stream string, f func(event)) {
	if p.err == nil {
		p.err = each(filepath.Join(p.dir, stream+".ndjson"), f)
	}
}

// row begins what comes out, and out puts it out.
func (p *plain) row() object { return p.buf.begin() }

func (p *plain) out(o object) {
	p.buf = o.line()
	if p.err == nil {
		p.err = p.put(p.buf)
	}
}

// bidFields are what most queries hand on of a bid.
func bidFields() []string { return []string{"auction", "bidder", "price", "dateTime", "extra"} }

// euros is a price in another currency.
func euros(price int64) float64 { return 0.908 * float64(price) }

func plain0(p *plain) {
	names := bidFields()
	p.each("bid", func(b event) { p.out(p.row().from(b, names...)) })
}

func plain1(p *plain) {
	p.each("bid", func(b event) {
		p.out(p.row().from(b, "auction", "bidder", "dateTime", "extra").real("price", euros(b.whole("price"))))
	})
}

func plain2(p *plain) {
	p.each("bid", func(b event) {
		if b.whole("auction")%123 == 0 {
			p.out(p.row().from(b, "auction", "price"))
		}
	})
}

// plain10 has the folder and file that a bid belongs to.
func plain10(p *plain) {
	names := bidFields()
	p.each("bid", func(b event) {
		at := time.UnixMilli(b.at()).UTC()
		p.out(p.row().from(b, names...).text("day", at.Format("2006-01-02")).text("minute", at.Format("15-04")))
	})
}

func plain13(p *plain) {
	side := map[int64]string{}
	p.each("side", func(s event) { side[s.whole("key")] = s.text("value") })
	p.each("bid", func(b event) {
		if value, ok := side[b.whole("auction")%10_000]; ok {
			p.out(p.row().from(b, "auction", "bidder", "price", "dateTime").text("value", value))
		}
	})
}

func plain14(p *plain) {
	p.each("bid", func(b event) {
		price := euros(b.whole("price"))
		if price <= 1_000_000 || price >= 50_000_000 {
			return
		}
		kind := "otherTime"
		switch h := time.UnixMilli(b.at()).UTC().Hour(); {
		case h >= 8 && h <= 18:
			kind = "dayTime"
		case h <= 6 || h >= 20:
			kind = "nightTime"
		}
		extra := b.text("extra")
		p.out(p.row().from(b, "auction", "bidder", "dateTime").real("price", price).text("bidTimeType", kind).
			text("extra", extra).whole("c_counts", int64(strings.Count(extra, "c"))))
	})
}

func plain21(p *plain) {
	known := map[string]string{"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
	p.each("bid", func(b event) {
		id, ok := known[strings.ToLower(b.text("channel"))]
		if !ok {
			if _, id, ok = strings.Cut(b.text("url"), "&channel_id="); !ok {
				return
			}
			id, _, _ = strings.Cut(id, "&")
		}
		p.out(p.row().from(b, "auction", "bidder", "price", "channel").text("channel_id", id))
	})
}

func plain22(p *plain) {
	p.each("bid", func(b event) {
		o := p.row().from(b, "auction", "bidder", "price", "channel")
		for i, dir := range strings.SplitN(b.text("url"), "/", 7)[3:6] {
			o = o.text(fmt.Sprintf("dir%d", i+1), dir)
		}
		p.out(o)
	})
}
