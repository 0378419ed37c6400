package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

var ofG = api.Ref{Tenant: "default", Name: "g"}

const refusing = "graph: g\naccumulators: { a: { strategy: sequential } }\n%snodes: { n: { expr: a * 10 } }\n" +
	"outputs: { o: { from: n, sink: { file: { path: never.ndjson } }, on_error: dead_letter%s } }\n"

// choosy is a receiver that takes values one by one, and refuses one of them for good while told so.
type choosy struct {
	receiver
	refuses string
	away    bool
}

func (c *choosy) Deliver(ctx context.Context, batch []sink.Message) error {
	for i := range batch {
		c.mu.Lock()
		refuses, away := c.refuses, c.away
		c.mu.Unlock()
		if away {
			return errors.New("away")
		}
		if batch[i].Value.String() == refuses {
			return &sink.PermanentError{Index: i, Code: "rejected", Err: errors.New("not " + refuses)}
		}
		if err := c.receiver.Deliver(ctx, batch[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (c *choosy) say(refuses string, away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses, c.away = refuses, away
}

// M5, M30: a value that its sink has refused is sent again by its output's own path, under the id that it had,
// behind what the output has taken; what is refused again is a letter that is linked to the old, and counts.
func TestM5SinkLetterReplay(t *testing.T) {
	for name, doc := range map[string]string{
		"direct":  fmt.Sprintf(refusing, "", ""),
		"outbox":  fmt.Sprintf(refusing, "", ", delivery: outbox"),
		"journal": fmt.Sprintf(refusing, "durability: { mode: journal }\n", ""),
		"none":    fmt.Sprintf(refusing, "durability: { mode: none }\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := &choosy{refuses: "20"}
				b := newBed(t, lasting{memstore.New()}, &scripted{sink: func(string) sink.Sink { return got }})
				defer b.close()
				b.apply(doc, "g")
				b.push("g", "a", "1", "2", "3")
				time.Sleep(time.Minute)
				l := b.letters("g")
				if len(l) != 1 || l[0].Output != "o" || l[0].Attempts != 1 || l[0].FiringID == "" {
					t.Fatalf("letters %+v", l)
				}
				res, err := b.e.ReplayDeadLetter(t.Context(), ofG, l[0].ID)
				if err != nil || res.Accepted != 0 || len(res.Rejected) != 1 || res.Rejected[0].Code != "rejected" {
					t.Fatalf("it is refused again: %+v, %v", res, err)
				}
				again := b.letters("g")
				if len(again) != 1 || again[0].ReplayOf != l[0].ID || again[0].Attempts != 2 ||
					again[0].FiringID != l[0].FiringID || again[0].Epoch != 2 {
					t.Fatalf("letters %+v", again)
				}
				got.say("", false)
				if res, err = b.e.ReplayDeadLetter(t.Context(), ofG, again[0].ID); err != nil || res.Accepted != 1 {
					t.Fatalf("%+v, %v", res, err)
				}
				if left := b.letters("g"); len(left) != 0 || got.taken() != "[10 30 20]" {
					t.Fatalf("letters %+v, took %s", left, got.taken())
				}
				if v := got.ids[l[0].FiringID]; strings.TrimSuffix(v, " (not stable)") != "20" {
					t.Errorf("under the id it had came %q", v)
				}
				time.Sleep(time.Second)
				if s := b.summary("g"); s.Epoch != 3 || s.Outputs[0].Pending != 0 || s.Outputs[0].Failed != 2 {
					t.Errorf("epoch %d, %+v", s.Epoch, s.Outputs[0])
				}
			})
		})
	}
}

// M30: of a co-transaction the row of a replay is in the commit that discards the letter; one that is no row is a
// letter again, and blocks nothing, whatever on_error says by then.
func TestM30RowReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, got := memstore.New(), &table{}
		memory.MakeTable("t", "n")
		b := newBed(t, lasting{memory}, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(outboxed, ", on_error: dead_letter"), "g")
		b.push("g", "a", "1", "5", "1", "2")
		time.Sleep(time.Second)
		b.apply(fmt.Sprintf(outboxed, ""), "g")
		memory.MakeTable("t") // two rows may be alike by now
		res, err := b.e.ReplayDeadLetters(t.Context(), ofG, api.LettersRequest{All: true})
		if err != nil || res.Letters != 2 || res.Passed != 1 || res.FailedAgain != 1 ||
			res.Reasons[0].Code != "no_row" {
			t.Fatalf("%+v, %v", res, err)
		}
		b.push("g", "a", "3")
		time.Sleep(time.Second)
		var rows []string
		for _, r := range memory.Rows("t") {
			rows = append(rows, r["n"].String())
		}
		l := b.letters("g")
		if strings.Join(rows, " ") != "10 30" || b.summary("g").Health != "live" || len(l) != 1 || l[0].Attempts != 2 {
			t.Errorf("rows %v, %s, letters %+v", rows, b.summary("g").Health, l)
		}
	})
}

// M5: a letter goes with the commit that makes its replay durable: whatever a crash cuts off, the one or the
// other is there, and the receiver sees one id.
func TestM5ReplayAcrossACrash(t *testing.T) {
	for _, delivery := range []string{"", ", delivery: outbox"} {
		synctest.Test(t, func(t *testing.T) {
			got, store := &choosy{refuses: "20"}, lasting{memstore.New()}
			kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
			first := newBed(t, store, kinds())
			first.apply(fmt.Sprintf(refusing, "", delivery), "g")
			first.push("g", "a", "1", "2")
			time.Sleep(time.Second)
			l := first.letters("g")
			got.say("", true)
			res, err := first.e.ReplayDeadLetters(t.Context(), ofG, api.LettersRequest{All: true})
			if err != nil || res.Waiting != 1 || res.Reasons[0].Code != "output_pending" ||
				len(first.letters("g")) != 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			got = &choosy{refuses: "20"} // what the first owner sends goes nowhere any more
			second := newBed(t, store, kinds())
			time.Sleep(time.Minute)
			again := second.letters("g")
			if len(again) != 1 || again[0].ReplayOf != l[0].ID || again[0].Attempts != 2 ||
				again[0].FiringID != l[0].FiringID {
				t.Fatalf("letters %+v", again)
			}
			_ = second.e.Close()
			_ = first.e.Close()
		})
	}
}

// unsure is a store that refuses commits as told.
type unsure struct {
	checkpoint.Store
	refuses func(c *checkpoint.Commit) error
}

func (u *unsure) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if err := u.refuses(c); err != nil {
		return err
	}
	return u.Store.Commit(ctx, c)
}

// While the store takes nothing a replay is not through: it says so, its letter stays, and it is not sent twice.
func TestM5ReplayWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &choosy{refuses: "20"}
		var away atomic.Bool
		store := &unsure{lasting{memstore.New()}, func(*checkpoint.Commit) error {
			if away.Load() {
				return errors.New("no room")
			}
			return nil
		}}
		b := newBed(t, store, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(refusing, "", ", delivery: outbox"), "g")
		b.push("g", "a", "1", "2")
		time.Sleep(time.Second)
		id := b.letters("g")[0].ID
		got.say("", false)
		away.Store(true)
		if _, err := b.e.ReplayDeadLetter(t.Context(), ofG, id); problem(err) != "not_durable" {
			t.Errorf("replay without a store: %v", err)
		}
		if _, err := b.e.ReplayDeadLetter(t.Context(), ofG, id); problem(err) != "replay_under_way" {
			t.Errorf("the same again: %v", err)
		}
		away.Store(false)
		time.Sleep(time.Minute)
		if left := b.letters("g"); len(left) != 0 || got.taken() != "[10 20]" {
			t.Errorf("letters %+v, took %s", left, got.taken())
		}
	})
}

func problem(err error) string {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return fmt.Sprint(err)
}

// M5: many letters at once: filters, an expression, bounds, and what became of them; what fails again is a letter
// with its count, and no replay comes by its own letters again.
func TestM5ManyLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential }, by: { passive: true, default: 0 } }\n"+
			"nodes: { n: { expr: 'a.x / (a.odd ? by : 1) + a.y' } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		var events []string
		for n := range 300 {
			y := []string{"1", `"q"`}[n/2%2]
			events = append(events, fmt.Sprintf(`{"x":%d,"y":%s,"odd":%t}`, n, y, n%2 == 1))
		}
		b.push("g", "a", events...)
		page := func(c api.LetterChoice, limit int) int {
			n := 0
			for q := (api.LetterQuery{LetterChoice: c, Limit: limit}); ; {
				p, err := b.e.DeadLetters(t.Context(), ofG, q)
				if err != nil || len(p.Items) > limit {
					t.Fatalf("%+v: %d, %v", q, len(p.Items), err)
				}
				n += len(p.Items)
				if q.Before = p.Next; p.Next == "" {
					return n
				}
			}
		}
		for _, test := range []struct {
			c    api.LetterChoice
			want int
		}{
			{api.LetterChoice{}, 225},
			{api.LetterChoice{Code: "not_finite"}, 150},
			{api.LetterChoice{Code: "not_finite", Where: "event.x < 10"}, 5},
			{api.LetterChoice{Where: `event.y == "q" and attempts == 1 and epoch <= 4`}, 2},
			{api.LetterChoice{Where: `at >= date("2000-01-01T00:00:00Z")`}, 225}, {api.LetterChoice{Since: "1h"}, 225},
			{api.LetterChoice{Until: "1h"}, 0}, {api.LetterChoice{Accumulator: "by"}, 0},
		} {
			if got := page(test.c, 20); got != test.want {
				t.Errorf("%+v chooses %d, want %d", test.c, got, test.want)
			}
		}
		wrong := []api.LetterChoice{{Where: "event."}, {Where: "nosuch"}, {Since: "yesterday"}, {Since: "-1h"}}
		for _, c := range wrong {
			_, err := b.e.DeadLetters(t.Context(), ofG, api.LetterQuery{LetterChoice: c})
			if problem(err) != "invalid_parameter" {
				t.Errorf("%+v: %v", c, err)
			}
		}
		all := func(req api.LettersRequest) (sum api.LettersResult) {
			for {
				r, err := b.e.ReplayDeadLetters(t.Context(), ofG, req)
				if err != nil {
					t.Fatal(err)
				}
				r.AddTo(&sum)
				if req.After = r.Next; r.Next == "" {
					return sum
				}
			}
		}
		b.push("g", "by", "2")
		before := b.summary("g")
		if r := all(api.LettersRequest{All: true, Preview: true, Limit: 70}); r.Letters != 225 || r.Passed != 75 ||
			r.FailedAgain != 150 || len(r.Reasons) != 1 || r.Reasons[0].Code != "type_error" {
			t.Errorf("preview: %+v", r)
		}
		if s := b.summary("g"); s.Epoch != before.Epoch || s.Counters != before.Counters ||
			page(api.LetterChoice{}, 1000) != 225 {
			t.Errorf("a preview has left %+v, before %+v", s, before)
		}
		if r := all(api.LettersRequest{All: true, Limit: 70}); r.Letters != 225 || r.Passed != 75 ||
			r.FailedAgain != 150 {
			t.Errorf("replay: %+v", r)
		}
		if n := page(api.LetterChoice{Where: "attempts == 2"}, 100); n != 150 || page(api.LetterChoice{}, 100) != 150 {
			t.Errorf("%d letters of 150 are the second attempt", n)
		}
		time.Sleep(time.Second)
		c := b.summary("g").Counters
		if c.Received != 301+225 || c.Received != c.Filtered+c.Conflated+c.Rejected+c.DeadLettered+c.Consumed+c.Queued {
			t.Errorf("the books: %+v", c)
		}
		odd := api.LetterChoice{Where: "event.odd"}
		seen := api.LettersRequest{LetterChoice: odd, Preview: true}
		if _, err := b.e.DiscardDeadLetters(t.Context(), ofG, seen); problem(err) != "invalid_body" {
			t.Errorf("a discard with preview: %v", err)
		}
		r, err := b.e.DiscardDeadLetters(t.Context(), ofG, api.LettersRequest{LetterChoice: odd})
		if err != nil || r.Discarded != 75 || page(api.LetterChoice{}, 100) != 75 {
			t.Errorf("discard: %+v, %v", r, err)
		}
		for _, req := range []api.LettersRequest{{}, {All: true, IDs: []string{"x"}}, {All: true, Limit: 1001}} {
			if _, err := b.e.ReplayDeadLetters(t.Context(), ofG, req); problem(err) != "invalid_body" {
				t.Errorf("%+v: %v", req, err)
			}
		}
	})
}
