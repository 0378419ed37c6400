package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// M48, M53: what a graph costs and holds is the sum over its shards wherever they run, the same at every daemon that is
// asked, and of one shard that one's; what was read counts once for each daemon.
func TestM53CostIsOfAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		list := events(0, 120)
		bytes := int64(0)
		for _, e := range list {
			bytes += int64(len(e))
		}
		for n, name := range []string{"a", "b", "c"} {
			m.beds[name].push("g", "a", list[40*n:40*n+40]...)
		}
		time.Sleep(2 * time.Minute) // weighed, and in a checkpoint
		for name, b := range m.beds {
			all := b.summary("g")
			var sum api.Cost
			for n := range 12 {
				s, err := b.e.Shard(t.Context(), shardedRef, n)
				if err != nil {
					t.Fatal(err)
				}
				if s.Cost.MemoryBytes == 0 || s.Cost.MemoryBytes >= all.Cost.MemoryBytes/2 {
					t.Errorf("asked at %s: shard %d holds %d bytes of %d", name, n, s.Cost.MemoryBytes,
						all.Cost.MemoryBytes)
				}
				sum.MemoryBytes += s.Cost.MemoryBytes
				sum.StoredBytes += s.Cost.StoredBytes
			}
			c := all.Cost
			if c.MemoryBytes != sum.MemoryBytes || c.StoredBytes != sum.StoredBytes || c.StoredBytes == 0 {
				t.Errorf("asked at %s: %+v, and the shards %+v", name, c, sum)
			}
			if c.EventBytes != bytes {
				t.Errorf("asked at %s: %d bytes of events, and %d were pushed", name, c.EventBytes, bytes)
			}
		}
	})
}
