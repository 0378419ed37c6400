// Package audittest holds what every store of the audit is held to. Start at [Run].
package audittest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/audit"
)

// Run holds a log to the contract of [audit.Log]. again closes and opens it, where it keeps anything.
func Run(t *testing.T, log audit.Log, again func() audit.Log) {
	t.Helper()
	chains, err := log.AuditChains(t.Context())
	if err != nil || len(chains) != 0 {
		t.Fatalf("a new store has the chains %v, %v", chains, err)
	}
	add(t, log, "acme", 1, 5)
	add(t, log, audit.Daemon, 1, 2)
	log = again()
	add(t, log, "acme", 6, 7)
	check(t, log, "acme", 7, 0)
	check(t, log, audit.Daemon, 2, 0)

	for _, tt := range []struct {
		q    audit.Query
		want string
	}{
		{audit.Query{Tenant: "acme", After: 5}, "6 7"},
		{audit.Query{Tenant: "acme", Limit: 2}, "1 2"},
		{audit.Query{Tenant: "acme", Since: at(6)}, "6 7"},
		{audit.Query{Tenant: "acme", Since: at(100)}, ""},
		{audit.Query{Tenant: "acme", Subject: "odd"}, "1 3 5 7"},
		{audit.Query{Tenant: "acme", Graph: "g2", After: 2}, "5"},
		{audit.Query{Tenant: "nobody"}, ""},
	} {
		var got []string
		for _, r := range rows(t, log, tt.q) {
			got = append(got, fmt.Sprint(r.Seq))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.q, got, tt.want)
		}
	}
	for _, tt := range []struct{ through, removed, from int }{{0, 0, 0}, {3, 3, 3}, {3, 0, 3}, {100, 3, 6}} {
		n, err := log.PruneAudit(t.Context(), "acme", int64(tt.through))
		if err != nil || n != int64(tt.removed) {
			t.Errorf("through %d: %d were removed, %v, want %d", tt.through, n, err, tt.removed)
		}
		check(t, log, "acme", 7, int64(tt.from))
	}
	if n, err := log.PruneAudit(t.Context(), "nobody", 1); n != 0 || err != nil {
		t.Errorf("of no chain %d were removed, %v", n, err)
	}
	log = again()
	add(t, log, "acme", 8, 9)
	check(t, log, "acme", 9, 6)
	check(t, log, audit.Daemon, 2, 0)
	late(t, log)
	Concurrent(t, log)
	hostile := entry("hostile", 1)
	hostile.Subject, hostile.Graph = "mal\x00lory", "%\x00\xff" // as callers send them
	if _, err := log.AppendAudit(t.Context(), hostile); err != nil {
		t.Errorf("texts that callers have chosen: %v", err)
	}
	if got := rows(t, log, audit.Query{Tenant: "hostile", Subject: "mallory"}); len(got) != 1 {
		t.Errorf("found %d entries, want 1", len(got))
	}
}

// late holds it to finding what is meant by its time although an older entry was written behind it: after an outage
// one is hours late.
func late(t *testing.T, log audit.Log) {
	t.Helper()
	for _, ago := range []time.Duration{20 * time.Hour, 2 * time.Minute, time.Minute, 19 * time.Hour, 0} {
		e := entry("late", 0)
		e.At = at(0).Add(-ago)
		if _, err := log.AppendAudit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	for _, r := range rows(t, log, audit.Query{Tenant: "late", Since: at(0).Add(-10 * time.Minute)}) {
		got = append(got, r.Seq)
	}
	if !slices.Equal(got, []int64{2, 3, 5}) {
		t.Errorf("found %v, want 2, 3 and 5", got)
	}
	check(t, log, "late", 5, 0)
}

// Concurrent holds stores over the same data to one unforked chain, whoever appends at the same time.
func Concurrent(t *testing.T, logs ...audit.Log) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				e := entry("many", 1000*i+n)
				if _, err := logs[i%len(logs)].AppendAudit(t.Context(), e); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	check(t, logs[0], "many", 80, 0)
}

func at(second int) time.Time { return time.Date(2026, 11, 20, 10, 0, second, 123456789, time.UTC) }

func entry(tenant string, n int) audit.Entry {
	subject := "even"
	if n%2 == 1 {
		subject = "odd"
	}
	return audit.Entry{Kind: audit.Intent, At: at(n), Tenant: tenant, Operation: "fire", Graph: fmt.Sprintf("g%d", n%3),
		Actor:  audit.Actor{Subject: subject, From: "127.0.0.1"},
		Detail: []string{"<it's> \"quoted\" \\ \x00 日本\xff", fmt.Sprint(n)}}
}

func add(t *testing.T, log audit.Log, tenant string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if seq, err := log.AppendAudit(t.Context(), entry(tenant, n)); err != nil || seq != int64(n) {
			t.Fatalf("append to %s: %d, %v; want %d", tenant, seq, err, n)
		}
	}
}

func rows(t *testing.T, log audit.Log, q audit.Query) []audit.Row {
	t.Helper()
	rows, err := log.AuditRows(t.Context(), q)
	if err != nil {
		t.Fatalf("read %+v: %v", q, err)
	}
	return rows
}

// check follows a chain from what was removed of it to its end.
func check(t *testing.T, log audit.Log, tenant string, head, removed int64) {
	t.Helper()
	chains, err := log.AuditChains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chains {
		if c.Tenant != tenant {
			continue
		}
		if c.Head.Seq != head || c.Removed.Seq != removed {
			t.Errorf("the chain of %s goes from %d to %d, want %d to %d", tenant, c.Removed.Seq, c.Head.Seq, removed,
				head)
		}
		v := audit.Verify(tenant, c.Removed)
		for _, r := range rows(t, log, audit.Query{Tenant: tenant}) {
			if err := v.Next(&r); err != nil {
				t.Error(err)
			}
		}
		// What these tests remove no entry tells of.
		if err := v.Reaches(c.Head); (err != nil) != (removed > 0) || v.Last() != c.Head {
			t.Errorf("the chain of %s from %d on: %v", tenant, removed, err)
		}
		return
	}
	t.Errorf("there is no chain of %s", tenant)
}
