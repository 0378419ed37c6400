package main

import (
	"context"
	"net"
	"testing"
	"time"
)

// Health names whose node does harm, whatever that is, and its neighbour goes on: what it is given comes to its sink
// while the harm lasts. A guest that spins is stopped, and the daemon stops when it is told to (M21, M25, M38).
func TestHealthNamesWhoDoesHarm(t *testing.T) {
	server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for _, h := range harms() {
		t.Run(h.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			end := make(chan struct{})
			d, arrived, err := newDaemon(ctx, t.TempDir(), &h, "http://"+server.Addr().String()+"/", end)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- d.Run(ctx) }()
			select {
			case <-d.Ready():
			case err := <-ended:
				t.Fatal(err)
			}
			push := func(graph string, event any) {
				t.Helper()
				if err := d.Push(ctx, graph, "a", event); err != nil {
					t.Fatalf("push to %s: %v", graph, err)
				}
			}
			sent, came := 0, 0
			for named := false; !named; named = h.named(ctx, "http://"+d.Addr()) {
				if ctx.Err() != nil {
					t.Fatalf("after a minute health does not say %s", h.code)
				}
				if sent == 0 || h.every > 0 {
					push("harm", 1)
				}
				push("calm", time.Now().UnixNano())
				sent++
			}
			for came < sent {
				select {
				case <-arrived.news:
					came += len(arrived.take())
				case <-ctx.Done():
					t.Fatalf("of %d values of the neighbour %d have come in a minute", sent, came)
				}
			}
			close(end)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
