package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// What the benchmark says of its events: of fifty the first is a person who registers, the next three are auctions,
// the rest bids.
const (
	cycle    = 50
	auctions = 3

	firstID       = 1000 // of persons and of auctions
	firstCategory = 10
	categories    = 5

	inFlight = 100  // auctions that most bids are for
	active   = 1000 // persons who bid and sell
	lead     = 10   // how many that are still to come may be bid for, or bid and sell themselves
	hot      = 100  // one in so many persons and auctions is hot

	channels = 10_000
	sideRows = 10_000
)

// base is the time of the first event: twenty seconds before midnight, so that there are two days.
const base = int64(1_436_918_380_000) // 2015-07-14T23:59:40Z, in ms

// generator makes the events of an online auction, the same for the same numbers.
type generator struct {
	rng      *rand.Rand
	rate     int64 // events in a second
	letters  []byte
	hotURLs  []string
	channels []channel
	buf      object
}

type channel struct{ name, url string }

func hotChannels() []string { return []string{"Google", "Facebook", "Baidu", "Apple"} }

func newGenerator(rate int64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(1, 1)), rate: rate, letters: make([]byte, 1<<20)}
	for i := range g.letters {
		g.letters[i] = byte('a' + g.rng.IntN(26))
	}
	for range hotChannels() {
		g.hotURLs = append(g.hotURLs, g.url())
	}
	for i := range channels {
		c := channel{"channel-" + strconv.Itoa(i), g.url()}
		if g.rng.IntN(10) > 0 {
			c.url += "&channel_id=" + strconv.Itoa(int(bits.Reverse32(uint32(i))>>1))
		}
		g.channels = append(g.channels, c)
	}
	return g
}

// write writes so many events to the files of dir, one for each stream, and the rows of the side input.
func (g *generator) write(dir string, events int64) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out := map[string]*bufio.Writer{}
	for _, name := range streams() {
		f, e := os.Create(filepath.Join(dir, name+".ndjson"))
		if e != nil {
			return e
		}
		w := bufio.NewWriterSize(f, 256<<10)
		out[name] = w
		defer func() { err = errors.Join(err, w.Flush(), f.Close()) }()
	}
	for i := range int64(sideRows) {
		row := g.buf.begin().whole("key", i).text("value", "side-"+strconv.FormatInt(i*i%9973, 10))
		if _, err := out["side"].Write(row.line()); err != nil {
			return err
		}
		g.buf = row
	}
	for n := range events {
		stream, row := g.event(n)
		if _, err := out[stream].Write(row.line()); err != nil {
			return err
		}
		g.buf = row
	}
	return nil
}

// streams are the names of the files.
func streams() []string { return []string{"person", "auction", "bid", "side"} }

// event is the event of a number.
func (g *generator) event(n int64) (stream string, row object) {
	at := base + n*1000/g.rate
	switch offset := n % cycle; {
	case offset == 0:
		return "person", g.person(n, at)
	case offset <= auctions:
		return "auction", g.auction(n, at)
	default:
		return "bid", g.bid(n, at)
	}
}

func (g *generator) person(n, at int64) object {
	name := pick(g, "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter") +
		" " + pick(g, "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
	city := pick(g, "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle",
		"Kent", "Cheyenne")
	card := fmt.Sprintf("%04d %04d %04d %04d", g.rng.IntN(10_000), g.rng.IntN(10_000), g.rng.IntN(10_000),
		g.rng.IntN(10_000))
	return g.buf.begin().whole("id", lastPerson(n)+firstID).text("name", name).
		text("emailAddress", g.word(7)+"@"+g.word(5)+".com").text("creditCard", card).text("city", city).
		text("state", pick(g, "AZ", "CA", "ID", "OR", "WA", "WY")).whole("dateTime", at).text("extra", g.extra(110))
}

func (g *generator) auction(n, at int64) object {
	seller := g.somePerson(n)
	if g.rng.IntN(4) > 0 {
		seller = lastPerson(n) / hot * hot
	}
	// It lasts until about a hundred more have begun, on average.
	most := max(2*inFlight*cycle/auctions*1000/g.rate, 1)
	first := g.price()
	return g.buf.begin().whole("id", lastAuction(n)+firstID).text("itemName", g.word(20)).
		text("description", g.word(100)).whole("initialBid", first).whole("reserve", first+g.price()).
		whole("dateTime", at).whole("expires", at+1+g.rng.Int64N(most)).whole("seller", seller+firstID).
		whole("category", firstCategory+g.rng.Int64N(categories)).text("extra", g.extra(390))
}

func (g *generator) bid(n, at int64) object {
	auction := g.someAuction(n)
	if g.rng.IntN(2) > 0 {
		auction = lastAuction(n) / hot * hot
	}
	bidder := g.somePerson(n)
	if g.rng.IntN(4) > 0 {
		bidder = lastPerson(n)/hot*hot + 1 // beside the hot seller
	}
	c := g.channels[g.rng.IntN(channels)]
	if g.rng.IntN(2) > 0 {
		i := g.rng.IntN(len(g.hotURLs))
		c = channel{hotChannels()[i], g.hotURLs[i]}
	}
	return g.buf.begin().whole("auction", auction+firstID).whole("bidder", bidder+firstID).whole("price", g.price()).
		text("channel", c.name).text("url", c.url).whole("dateTime", at).text("extra", g.extra(68))
}

// lastPerson and lastAuction are the numbers of the newest ones at an event, which itself may be one.
func lastPerson(n int64) int64 { return n / cycle }

func lastAuction(n int64) int64 {
	return n/cycle*auctions + min(n%cycle, auctions) - 1
}

func (g *generator) somePerson(n int64) int64 {
	all := lastPerson(n) + 1
	recent := min(all, active)
	return all - recent + g.rng.Int64N(recent+lead)
}

func (g *generator) someAuction(n int64) int64 {
	last := lastAuction(n)
	least := max(last-inFlight, 0)
	return least + g.rng.Int64N(last-least+1+lead)
}

// price is from 100 to 100,000,000, as often in each power of ten.
func (g *generator) price() int64 { return int64(math.Round(math.Pow(10, g.rng.Float64()*6) * 100)) }

// word is a text of three letters up to so many.
func (g *generator) word(most int) string { return g.text(3 + g.rng.IntN(most-3)) }

// extra is about so many letters, a fifth more or less.
func (g *generator) extra(about int) string { return g.text(about*4/5 + g.rng.IntN(about*2/5)) }

func (g *generator) text(size int) string {
	at := g.rng.IntN(len(g.letters) - size)
	return string(g.letters[at : at+size])
}

func (g *generator) url() string {
	return "https://www.nexmark.com/" + g.word(5) + "/" + g.word(5) + "/" + g.word(5) + "/item.htm?query=1"
}

func pick(g *generator, of ...string) string { return of[g.rng.IntN(len(of))] }
