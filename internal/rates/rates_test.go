package rates_test

import (
	"context"
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/rates"
)

// TestOneKeyLeavesOthers: what one has spent another has not, and it comes back with the time (A12).
func TestOneKeyLeavesOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rates.New(rates.Config{PerSecond: 10, Burst: 20, Keys: 100})
		took := func(key string, n int) (took int) {
			for range n {
				if r.Take(key, 1) {
					took++
				}
			}
			return took
		}
		if n := took("loud", 1000); n != 20 || r.Spent("loud") != time.Second/10 || r.Spent("calm") != 0 {
			t.Errorf("%d were to be had", n)
		}
		if n := took("calm", 20); n != 20 {
			t.Errorf("another had %d", n)
		}
		time.Sleep(time.Second)
		if n := took("loud", 1000); n != 10 {
			t.Errorf("after a second %d were to be had", n)
		}
		if !r.Take("large", 1000) || r.Take("large", 1) {
			t.Error("what is more than the burst takes the burst")
		}
		if n := took("", 1000); n != 1000 {
			t.Errorf("of nobody %d", n)
		}
		began := time.Now()
		for range 30 {
			if err := r.Wait(t.Context(), "patient", 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("30 took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Wait(ctx, "patient", 1); err == nil {
			t.Error("nobody is left to wait")
		}
	})
}

// TestManyAddressesAreBounded: a million addresses take no more memory than there are keys.
func TestManyAddressesAreBounded(t *testing.T) {
	t.Parallel()
	const keys = 1000
	r := rates.New(rates.Config{PerSecond: 1, Burst: 1, Keys: keys})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range uint32(1_000_000) {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], 1<<24+i)
		r.Take(rates.Source(netip.AddrFrom4(ip).String()), 1)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if r.Keys() != keys {
		t.Errorf("%d keys", r.Keys())
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("%d bytes", grown)
	}
	if !r.Take("again", 1) || r.Take("again", 1) {
		t.Error("one that is new has none, or too much")
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::9": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
		"127.0.0.1": "", "127.9.9.9": "", "::1": "", "::ffff:127.0.0.1": "", "": "", "@": "",
	} {
		if got := rates.Source(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	var none *rates.Rates
	if !none.Take("a", 1) || none.Spent("a") != 0 || none.Wait(t.Context(), "a", 1) != nil ||
		rates.New(rates.Config{}) != nil {
		t.Error("where there is no bound there is one")
	}
}
