package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// TestPageKeepsReasons: a frame of health is of the core alone, and takes away no reason that the summary has of more
// than that; what is worse is shown at once.
func TestPageKeepsReasons(t *testing.T) {
	stale := func(sum *api.GraphSummary) { sum.HealthReason = api.ReasonOf("stale", "output o has given nothing") }
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	stream := s.next()
	stream.say(`{"type":"result"}`, stands(t, stale))
	p.says(".notice", "output o has given nothing")
	stream.say(`{"type":"health","graph":"g","health":"live","paused":true}`)
	p.says(".title", "paused")
	p.says(".notice", "output o has given nothing")
	stream.say(`{"type":"health","graph":"g","health":"halted","paused":true,"health_reason":{"code":"x",
		"detail":"data is lost"}}`)
	p.says(".notice", "data is lost")

	p = start(t).open(s.URL + "/")
	stream = s.next()
	row, err := json.Marshal(api.GraphRow{Graph: "g", Health: "live", Stale: 1,
		HealthReason: api.ReasonOf("stale", "output o has given nothing")})
	if err != nil {
		t.Fatal(err)
	}
	stream.say(`{"type":"result"}`, fmt.Sprintf(`{"type":"summary","graph":"g","row":%s}`, row),
		`{"type":"summary","list":{"graphs":1}}`)
	p.says(".body .row.needy", "output o has given nothing")
	p.says(".chips", "Need a look 1")
	stream.say(`{"type":"health","graph":"g","health":"live","paused":true}`)
	p.says(".body .row", "paused")
	p.says(".body .row", "output o has given nothing")
}

// TestPageKeepsEarlierEvents: what was loaded of a graph's past stays there when something happens.
func TestPageKeepsEarlierEvents(t *testing.T) {
	s := newScripted(t)
	var newest atomic.Int64
	newest.Store(2)
	event := func(id int64) string {
		return fmt.Sprintf(`{"id":"%d","at":"2026-11-01T00:00:00Z","kind":"restarted","component":"graph",
			"outcome":"restarted","reason":"reason %d","attempt":1,"delay_ns":0,"incarnation":1}`, id, id)
	}
	s.answer("/v1/graphs/g/recovery-events", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("before") != "" {
			_, _ = fmt.Fprintf(w, `{"items":[%s]}`, event(1))
			return
		}
		n := newest.Load()
		_, _ = fmt.Fprintf(w, `{"items":[%s,%s],"next":"%d"}`, event(n), event(n-1), n-1)
	})
	newest.Store(3)
	p := start(t).open(s.URL + "/graphs/g?happened=1")
	stream := s.next()
	stream.say(`{"type":"result"}`, stands(t, nil))
	const section = "section[aria-labelledby=happened]"
	listed := fmt.Sprintf(`[...document.querySelectorAll(%q)].map(x => x.textContent.match(/reason (\d)/)[1]).join()`,
		section+" summary")
	p.until("the newest", listed+` === "3,2"`)
	p.click(section, "Earlier ones")
	p.until("all", listed+` === "3,2,1"`)
	newest.Store(4)
	stream.say(stands(t, func(sum *api.GraphSummary) { sum.Incarnation = 2 }))
	p.until("what has happened, and what was there", listed+` === "4,3,2,1"`)
}

// TestPageTellsOfAReplay: what a replay of many has come to is told also where others are listed meanwhile.
func TestPageTellsOfAReplay(t *testing.T) {
	s := newScripted(t)
	s.says("/v1/graphs/g/dead-letters", http.StatusOK, `{"items":[{"id":"1","at":"2026-11-01T00:00:00Z",
		"accumulator":"a","code":"c","reason":"r","stage":"s","events":1,"attempts":1,"payload":1,
		"payload_encoding":"json"}]}`)
	begun, goOn := make(chan bool, 1), make(chan bool)
	s.answer("/v1/graphs/g/dead-letters/replay", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Preview bool }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if !q.Preview {
			begun <- true
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write([]byte(`{"letters":7,"passed":7}`))
	})
	p := start(t).open(s.URL + "/graphs/g?letters=1")
	s.next().say(`{"type":"result"}`, stands(t, nil))
	const section = "section[aria-labelledby=letters]"
	p.click(section, "Replay all that fit")
	p.click(".act", "Replay")
	<-begun
	p.choose(section+" input[placeholder^=event]", "event == 0")
	p.until("those that fit", `location.search.includes("letter-where=")`)
	p.until("that nothing else is begun", fmt.Sprintf(`[...document.querySelectorAll(%q)].find(b =>
		b.textContent.startsWith("Replay all")).disabled`, section+" button"))
	close(goOn)
	p.says(".act", "7 letters have passed.")
	p.says(".act", "Replay all that fitted before")
	p.click(".act", "Close")
	p.until("that it is put away", `!document.querySelector(".act")`)
}

// TestPageSplitsPositions: the positions of streams stand one by one, also where they hold commas themselves.
func TestPageSplitsPositions(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	at := func(position string) string {
		return stands(t, func(sum *api.GraphSummary) { sum.Accumulators[0].Position = position })
	}
	stream := s.next()
	stream.say(`{"type":"result"}`, at("t/0:5,t/1:7"))
	p.says("section[aria-labelledby=marks]", "2 streams t/0:5 and t/1:7")
	stream.say(at("rows~00#sa,b,AbC_-:12,rows~0a#sc,AAA:9"))
	p.says("section[aria-labelledby=marks]", "2 streams rows~00:12 up to a,b and rows~0a:9 up to c")
}

// TestPageSaysWhichPartitionHoldsBack: the page says how far the time of events has come in an input, which partition
// holds that back, and how far each has come; where there is one alone it says the first.
func TestPageSaysWhichPartitionHoldsBack(t *testing.T) {
	daemon, text := newScripted(t), axe(t)
	p := start(t).open(daemon.URL + "/graphs/g")
	p.view(1440, "light")
	s := daemon.next()
	s.say(`{"type":"result"}`)
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	one := api.PartitionTime{Partition: "t/7", Newest: &at, Heard: &at}
	says := func(parts ...api.PartitionTime) {
		s.say(stands(t, func(sum *api.GraphSummary) {
			sum.Accumulators[0].Watermark = &api.Watermark{At: at, HeldBy: "t/7", Partitions: parts, All: len(parts)}
		}))
	}
	const section = "section[aria-labelledby=marks]"
	says(one)
	p.says(section, "Its watermark is at")
	p.until("nothing of others", `!document.querySelector("`+section+` details")`)
	says(one, api.PartitionTime{Partition: "t/8", Newest: &later}, api.PartitionTime{Partition: "t/9", Idle: true})
	p.says(section, "t/7 holds it back.")
	p.now(`document.querySelector("` + section + ` summary").click()`)
	p.until("each of them", `[...document.querySelectorAll("`+section+` tbody tr")].map(r =>
		r.children[0].textContent + " " + r.children[3].textContent.trim()).join() ===
		"t/7 ▲ holds it back,t/8 yes,t/9 no, it is silent"`)
	p.accessible("partitions", text)
	p.keep("partitions-light-1440", true)
	p.view(390, "dark")
	p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
	p.keep("partitions-dark-390", true)
	p.quiet()
}

// TestPageAsksAgainWhoLooks: where the daemon does not say who looks, it is asked again until it does.
func TestPageAsksAgainWhoLooks(t *testing.T) {
	s := newScripted(t)
	var asked atomic.Int64
	s.answer("/v1/whoami", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"subject":"ada","tenant":"default","role":"viewer","graphs":[],"read_only":false,
			"permissions":["read"],"session":false}`))
	})
	p := start(t).open(s.URL + "/graphs/g")
	s.next().say(`{"type":"result"}`, stands(t, nil))
	p.says(".me", "viewer")
	p.until("that nothing else is offered", `!document.querySelector(".buttons")`)
}

// TestPageSaysWhoRunsShards: of a graph whose shards run at several members each says at which.
func TestPageSaysWhoRunsShards(t *testing.T) {
	s := newScripted(t)
	s.says("/v1/members", http.StatusOK, `{"items":[
		{"id":"m1","name":"berlin","self":true,"state":"live","graphs":[{"tenant":"default","graph":"g","shard":0}]},
		{"id":"m2","name":"oslo","state":"leaving","graphs":[{"tenant":"default","graph":"g","shard":1},
			{"tenant":"other","graph":"g","shard":2}]}]}`)
	p := start(t).open(s.URL + "/graphs/g")
	stream := s.next()
	sharded := func(sum *api.GraphSummary) {
		sum.Tenant, sum.Keys = "default", &api.KeysSummary{Shards: 3, ShardsRunning: 2}
		for n := range 3 {
			sum.Shards = append(sum.Shards, api.ShardSummary{Shard: n, Health: "live", Incarnation: 1})
		}
	}
	stream.say(`{"type":"result"}`, stands(t, sharded))
	const at = `[...document.querySelectorAll("section[aria-labelledby=shards] tbody tr")].map(r =>
		r.children[2].textContent.replace(/\s+/g, " ").trim()).join()`
	p.until("who runs them", at+` === "berlin (this one),oslo leaving,–"`)
	s.says("/v1/members", http.StatusOK, `{"items":[{"id":"m1","name":"berlin","self":true,"state":"live","graphs":[
		{"tenant":"default","graph":"g","shard":0},{"tenant":"default","graph":"g","shard":1},
		{"tenant":"default","graph":"g","shard":2}]},{"id":"m2","name":"oslo","state":"drained","graphs":[]}]}`)
	stream.say(stands(t, func(sum *api.GraphSummary) {
		sharded(sum)
		sum.Shards[1].Incarnation = 2
	}))
	p.until("who runs them then", at+` === "berlin (this one),berlin (this one),berlin (this one)"`)
}
