package main

import (
	"encoding/json"
	"net/http"

	"github.com/graphd/graphd/internal/api"
)

// What the fake daemon has of reasons.

func why() api.Why {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	cut := &api.Because{Code: "cut_off", Node: "decide", Detail: "node decide ran and came to what it was before"}
	return api.Why{
		Graph: "market_maker", Epoch: 1042, Incarnation: 7, At: now, Key: raw("null"), OK: true,
		Sentence: "epoch 1042 of market_maker ran because orderbook had something new, and the guard held",
		Cause:    api.Reason{Code: "criteria", Detail: "orderbook had something new"},
		Revision: &api.Revision{Revision: 3, At: now, By: api.Author{Token: "ana", Host: "10.0.0.7"}},
		Degraded: []string{"limits"},
		Inputs: []api.WhyInput{
			{Name: "orderbook", State: "new", Events: 1, Position: "9f2c:1048576", Value: raw(`{"bid":100}`)},
			{Name: "pricing", State: "cached", Value: raw(`{"fair":101}`), SinceEpoch: 1039, AgeSeconds: new(2.5)},
			{Name: "limits", State: "absent", Value: raw("null")},
		},
		Guard: &api.WhyGuard{Expression: "orderbook.bid > 0", Reads: map[string]json.RawMessage{
			"orderbook": raw(`{"bid":100}`)}},
		Nodes: []api.WhyNode{
			{Name: "mid", Status: "ran", Value: raw("100.1")},
			{Name: "decide", Status: "cut_off", Value: raw(`"trade"`), Because: cut},
		},
		Outputs: []api.WhyOutput{
			{Name: "mids", Sink: "kafka", Fate: "pending", FiringID: "6ba7b810-9dad-51d1-80b4-00c04fd430c8",
				Value: raw("100.1"), Detail: "sink kafka has 3 values to deliver still"},
			{Name: "signals", Sink: "kafka", Fate: "silent", Value: raw("null"), Detail: cut.Detail, Because: cut},
		},
	}
}

func whyNot() api.WhyNot {
	return api.WhyNot{
		Graph: "market_maker", Key: json.RawMessage("null"), Output: "signals", At: now, Looked: 200,
		Sentence: "the graph waits for rate_limit",
		Now: []api.Because{{Code: "waits_for_timer", Detail: "the graph waits for rate_limit", Until: &now},
			{Code: "paused", Detail: "the graph is paused by ana", Do: "graphd resume market_maker"}},
		Epochs: []api.Because{{Code: "cut_off", Output: "signals", Epochs: 180, Epoch: 1042,
			Detail: "node decide ran and came to what it was before"}},
		Refused: []api.Because{
			{Code: "guard_false", At: &now, Detail: "the guard was false of what had come of orderbook",
				Values: map[string]json.RawMessage{"orderbook": json.RawMessage(`{"bid":0}`)}},
			{Code: "rejected", Detail: "input pricing has refused 2 events", Events: 2}},
		Counts: map[string]int64{"guard_false": 7, "rejected": 2},
	}
}

// keys are a page whose cursor tells what was asked for.
func keys(r *http.Request) api.KeyPage {
	return api.KeyPage{Items: []api.KeyRow{{Key: json.RawMessage(`"EURUSD"`), LastArrivalAt: now, Waiting: 2},
		{Key: json.RawMessage(`["EU",7]`), Shard: 3, LastArrivalAt: now}}, Keys: 12_000, Fitting: 17, Unknown: []int{5},
		Next: r.URL.RawQuery}
}
