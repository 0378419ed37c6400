package main

import (
	"encoding/json"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// What the fake daemon knows.

func marketMaker() api.GraphSummary {
	return api.GraphSummary{
		Graph: "market_maker", Tenant: "default", Description: "Quote an edge when the book and the model disagree.",
		Revision: 3, Instance: "6ba7b811-9dad-11d1-80b4-00c04fd430c8", Incarnation: 7,
		Health: "live", Degraded: []string{}, WaitingFor: []string{}, Epoch: 1042, EpochsPerSecond: 24.53,
		LastFiredAt: new(at(10 * time.Second)),
		Clock:       "event", EngineTime: new(at(11 * time.Second)), HeldBackBy: "orderbook",
		Durability: api.DurabilityStatus{Mode: "checkpoint", CheckpointEpoch: 1040, CheckpointAgeSeconds: new(0.4),
			CheckpointBytes: 812},
		Guarantees: map[string]string{"signals": "at least once: after a crash the last second may be sent again."},
		Counters: api.Counters{Received: 5000, Filtered: 10, Conflated: 900, DeadLettered: 2, Consumed: 4080,
			Queued: 8},
		Accumulators: []api.AccumulatorSummary{
			{Name: "orderbook", Kind: "passthrough", Source: "file", Strategy: "sequential", Triggers: true,
				Health: "live", Dirty: true,
				Depth: 8, Capacity: 1024, SecondsToFull: new(12.4), Position: "9f2c:1048576",
				LastEventAt: new(at(200 * time.Millisecond)),
				Counters:    api.Counters{Received: 4000, DeadLettered: 2}},
			{Name: "limits", Kind: "state", Source: "websocket", Strategy: "latest", Health: "socket_only",
				Capacity: 1024,
				Counters: api.Counters{Received: 1000}},
		},
		Outputs: []api.OutputSummary{
			{Name: "signals", From: "signal", Sink: "stdout", Path: "direct", Emitted: 4000},
			{Name: "audit", From: "reason", Sink: "file", Path: "direct", Emitted: 12, Pending: 3,
				Error: "append to audit.ndjson: no space left on device"},
		},
	}
}

// dealt is a graph of 20 shards, in three of which something is wrong.
func dealt() api.GraphSummary {
	g := marketMaker()
	g.Graph, g.Health = "dealt", "failed"
	g.HealthReason = &api.Reason{Code: "crash_loop", Detail: "shard 4: epoch 12 ends the reactor each time"}
	g.Keys = &api.KeysSummary{Count: 2000, Max: 20_000, Shards: 20, ShardsRunning: 18}
	for n := range 20 {
		g.Shards = append(g.Shards, api.ShardSummary{Shard: n, Health: "live", Incarnation: 7, Epoch: 50 + int64(n),
			Keys: 100, Lag: new(int64(0)), LastFiredAt: new(at(10 * time.Second)), EngineTime: g.EngineTime})
	}
	g.Shards[4].Health = "failed"
	g.Shards[4].HealthReason = &api.Reason{Code: "crash_loop", Detail: "epoch 12 ends the reactor each time"}
	g.Shards[4].LastFiredAt, g.Shards[4].EngineTime, g.Shards[4].Lag = nil, nil, nil
	g.Shards[9].Health, g.Shards[9].HealthReason = "starting", &api.Reason{Code: "store_away", Detail: "no answer"}
	g.Shards[11].Paused = true
	g.Shards[17].Lag, g.Shards[17].Queued, g.Shards[17].Waiting = new(int64(250)), 8, 3
	g.Shards[17].EngineTime = new(at(51 * time.Second))
	return g
}

func flights() api.GraphSummary {
	return api.GraphSummary{
		Graph: "flights", Tenant: "default", Revision: 1, Instance: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		Incarnation: 2,
		Health:      "failed", HealthReason: &api.Reason{
			Code: "restarts_exhausted", Detail: "accumulator flights: panic: boom",
		},
		Paused: true, PausedBy: "anonymous@127.0.0.1", Degraded: []string{"flights"}, WaitingFor: []string{"flights"},
		Durability:   api.DurabilityStatus{Mode: "checkpoint"},
		Accumulators: []api.AccumulatorSummary{}, Outputs: []api.OutputSummary{},
	}
}

func state() api.State {
	return api.State{
		Cache:  map[string]json.RawMessage{"orderbook": raw(`{"bid":100,"ask":100.2}`)},
		Dirty:  map[string]bool{"orderbook": true, "pricing": false},
		Queues: map[string]int{"orderbook": 8, "pricing": 0},
		Nodes:  map[string]json.RawMessage{"mid": raw("100.1"), "edge": raw("null")},
		Paused: true, Epoch: 1042,
	}
}

func okFiring() api.Firing {
	return api.Firing{
		Epoch: 1042, Incarnation: 7, At: at(10 * time.Second), Cause: "criteria", Key: raw("null"), OK: true,
		DurationUS: 85,
		Inputs: map[string]json.RawMessage{
			"orderbook": raw(`{"bid":100,"ask":100.2}`), "pricing": raw(`{"fair":101}`),
		},
		Outputs: map[string]json.RawMessage{"signals": raw(`{"side":"buy","edge":0.9}`)},
	}
}

func firings() api.Page[api.Firing] {
	failed := failedFiring().Firing
	old := okFiring()
	old.Epoch, old.Cause, old.Key, old.Degraded, old.Outputs = 1040, "force", raw(`"AAPL"`), []string{"pricing"}, nil
	old.At, old.DurationUS = at(3*time.Minute), 1_500_000
	return api.Page[api.Firing]{Items: []api.Firing{okFiring(), failed, old}, Next: "c1040"}
}

func firingDetail() api.FiringDetail {
	f := okFiring()
	f.Inputs["never"] = raw("null")
	return api.FiringDetail{
		Firing: f,
		Cut: map[string]api.CutInput{
			"orderbook": {Taken: true, Events: 1, Position: "9f2c:1048576"},
			"pricing":   {},
			"limits":    {},
			"never":     {Absent: true},
		},
		Nodes: map[string]api.NodeRecord{
			"mid":    {Status: "ran", Value: raw("100.1"), DurationUS: new(1.25)},
			"edge":   {Status: "ran", Value: raw("0.9"), DurationUS: new(0.8)},
			"decide": {Status: "cut_off", Value: raw(`"trade"`), DurationUS: new(0.5)},
			"signal": {Status: "ran", Value: raw(`{"side":"buy","edge":0.9}`)},
			"reason": {Status: "skipped", Value: raw("null")},
		},
	}
}

func failedFiring() api.FiringDetail {
	f := okFiring()
	f.Epoch, f.OK, f.Error, f.Outputs = 1041, false, new("node mid: not_finite: division by zero"), nil
	f.Degraded = []string{"pricing"}
	return api.FiringDetail{
		Firing: f,
		Cut:    map[string]api.CutInput{"orderbook": {Taken: true, Events: 2, Position: "9f2c:1048000"}},
		Nodes: map[string]api.NodeRecord{
			"mid": {Status: "failed", Value: raw("null"), Error: new("division by zero")},
		},
	}
}

// letter is a dead letter as the daemon writes it.
type letter struct {
	ID          string          `json:"id"`
	At          time.Time       `json:"at"`
	Accumulator string          `json:"accumulator"`
	Stage       string          `json:"stage"`
	Code        string          `json:"code"`
	Reason      string          `json:"reason"`
	Epoch       int64           `json:"epoch,omitempty"`
	Events      int64           `json:"events"`
	Payload     json.RawMessage `json:"payload"`
}

// letters is the page of dead letters behind a cursor: there are two.
func letters(before string) api.Page[letter] {
	if before != "" {
		return api.Page[letter]{
			Items: []letter{
				{ID: "dl0", At: at(2 * time.Hour), Accumulator: "pricing", Stage: "schema", Code: "schema",
					Payload: raw("1")},
			},
		}
	}
	return api.Page[letter]{Next: "dl1", Items: []letter{
		{ID: "dl3", At: at(time.Second), Accumulator: "orderbook", Stage: "node", Code: "not_finite",
			Reason: "node mid: division by zero", Epoch: 1041, Events: 1, Payload: raw(`{"bid":0}`)},
		{ID: "dl1", At: at(time.Hour), Accumulator: "orderbook", Stage: "decode", Code: "invalid_json",
			Reason: "not JSON at byte 3", Events: 1, Payload: raw(`"{\"bi"`)},
	}}
}

func recoveryEvents() api.Page[api.RecoveryEvent] {
	return api.Page[api.RecoveryEvent]{Items: []api.RecoveryEvent{
		{ID: 2, At: at(time.Minute), Component: "accumulator/orderbook", Kind: "gave_up", Reason: "panic: boom",
			Attempt: 6, Outcome: "failed"},
		{ID: 1, At: at(2 * time.Minute), Component: "accumulator/orderbook", Kind: "restart", Reason: "panic: boom",
			Attempt: 5, Delay: 16 * time.Second, Outcome: "restarted"},
	}}
}

func tree() api.Page[api.TreeNode] {
	line := func(path, state string, restarts int, ago time.Duration) api.TreeNode {
		return api.TreeNode{Path: path, State: state, Restarts: restarts, Since: at(ago)}
	}
	return api.Page[api.TreeNode]{Items: []api.TreeNode{
		line("graphd", "running", 0, 26*time.Hour),
		line("graphd/default/market_maker", "live", 0, 26*time.Hour),
		line("graphd/default/market_maker/accumulator/orderbook", "restarting", 3, 4*time.Second),
		line("graphd/default/market_maker/reactor", "running", 0, 90*time.Second),
		line("graphd/default/market_maker_2", "live", 0, 72*time.Hour),
		line("graphd/server", "running", 0, 2*time.Hour),
	}}
}
