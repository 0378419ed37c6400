package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// M42, M53: where one member refuses its part of a push for want of memory, the answer says which events others have
// taken, to the last one; what is refused is counted, and once. Where nobody has taken any it is refused as a whole.
func TestM53AMemberWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		a := m.beds["a"]
		m.mu.Lock()
		m.short["b"] = true
		m.mu.Unlock()
		time.Sleep(time.Second)
		var list []json.RawMessage
		for _, e := range events(0, 60) {
			list = append(list, json.RawMessage(e))
		}
		res, err := a.e.Push(t.Context(), shardedRef, "a", list)
		if err != nil || !res.Full || res.Refused == nil || res.Refused.Code != "memory_full" || res.Accepted == 0 ||
			len(res.Rejected) == 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		refused := map[int]bool{}
		for _, r := range res.Rejected {
			if refused[r.Index] = true; r.Code != "memory_full" {
				t.Errorf("%+v", r)
			}
		}
		time.Sleep(time.Second) // until all of it has fired
		next := res.Accepted + len(res.Rejected)
		for n := range 60 {
			_, err := a.e.State(t.Context(), shardedRef, fmt.Sprintf(`"k%d"`, n))
			if taken := err == nil; taken != (n < next && !refused[n]) {
				t.Errorf("event %d of %d: taken is %v, and the answer says another", n, next, taken)
			}
		}
		books := a.summary("g").Counters
		if books.Received != 60 || books.Rejected != int64(60-res.Accepted) {
			t.Errorf("%d were taken: %+v", res.Accepted, books)
		}

		m.mu.Lock()
		m.short["a"], m.short["c"] = true, true
		m.mu.Unlock()
		time.Sleep(time.Second)
		e := new(api.Error)
		if _, err := a.e.Push(t.Context(), shardedRef, "a", list); !errors.As(err, &e) || e.Code != "memory_full" {
			t.Errorf("%v", err)
		}
	})
}
