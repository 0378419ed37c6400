// Package sizetest holds stores to what they say of how much a tenant has in them. Start at [Test].
package sizetest

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Test holds a store that is empty to the contract of [checkpoint.Sizes].
func Test(t *testing.T, s checkpoint.Store) {
	t.Helper()
	want := func(what, tenant string, bytes int64) {
		t.Helper()
		if got, err := s.StoredBytes(t.Context(), tenant); err != nil || got != bytes {
			t.Errorf("%s: %d bytes, %v; want %d", what, got, err, bytes)
		}
	}
	want("a tenant with nothing", "acme", 0)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	text := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	fill := func(id checkpoint.ID) {
		t.Helper()
		head, err := s.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		key := checkpoint.PushKey{Accumulator: "in", Key: "1234", Hash: text(32), Shards: 1, Done: 1, At: at,
			Outcome: text(6)}
		entries := []checkpoint.JournalEntry{{Seq: 1, At: at, Data: text(5)},
			{Seq: 2, At: at, Data: text(3_000), Keys: []checkpoint.PushKey{key}}}
		if err := s.AppendJournal(t.Context(), id, head.Fence, entries); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context(), &checkpoint.Commit{
			ID: id, Fence: head.Fence, Seq: head.Seq + 1, Epoch: 1, At: at, Meta: text(7),
			Cells: []checkpoint.Cell{{Kind: "node", Name: "n", Key: `"k"`, Data: text(10)},
				{Kind: "node", Name: "m", Data: text(100_000)}},
			Firings: []checkpoint.Firing{{Incarnation: 1, Epoch: 1, Data: text(20_000)}}, KeepFirings: 10,
			DeadLetters: []checkpoint.DeadLetter{{ID: "1", At: at, Payload: text(400)}},
			Outbox: []checkpoint.OutboxEntry{
				{Output: "o", Seq: 1, Epoch: 1, FiringID: "f", At: at, Data: text(50)}},
			JournalTo: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	const each = 7 + 3 + 10 + 100_000 + 20_000 + 400 + 50 + 3_000 + 4 + 6
	first := checkpoint.ID{Tenant: "acme", Graph: "first"}
	fill(first)
	want("a graph", "acme", each)
	fill(checkpoint.ID{Tenant: "acme", Graph: "second", Shard: 1})
	fill(checkpoint.ID{Tenant: "beta", Graph: "first"})
	want("two graphs", "acme", 2*each)
	want("another tenant", "beta", each)
	if n, err := s.DiscardDeadLetters(t.Context(), first, []string{"1"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	want("without a dead letter", "acme", 2*each-400)
	if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: "acme", Graph: "first"}, -1); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDeclaration(t.Context(), first, false); err != nil {
		t.Fatal(err)
	}
	want("with kept state", "acme", 2*each-400)
	if _, err := s.PutDeclaration(t.Context(), checkpoint.Declaration{Tenant: "acme", Graph: "first"}, -1); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteDeclaration(t.Context(), first, true); err != nil {
		t.Fatal(err)
	}
	want("without the graph", "acme", each)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.StoredBytes(t.Context(), "acme"); err == nil {
		t.Error("a closed store answers")
	}
}
