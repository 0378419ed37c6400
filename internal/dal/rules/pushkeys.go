package rules

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// LastKeys are the keys that entries bring, each as the last entry has it.
func LastKeys(entries []checkpoint.JournalEntry) (last []*checkpoint.PushKey) {
	type name struct {
		accumulator, key string
		first            int64
	}
	var at map[name]int
	for i := range entries {
		for k := range entries[i].Keys {
			if at == nil {
				at = map[name]int{}
			}
			key := &entries[i].Keys[k]
			n := name{key.Accumulator, key.Key, key.First}
			if place, twice := at[n]; twice {
				last[place] = key
				continue
			}
			at[n], last = len(last), append(last, key)
		}
	}
	return last
}

// KeySize is what a key counts for in the bound of bytes.
func KeySize(k *checkpoint.PushKey) int64 { return int64(len(k.Key) + len(k.Outcome)) }

// KeySum is the checksum of a key, its name included.
func KeySum(k *checkpoint.PushKey) int64 {
	var scratch [256]byte
	name := append(append(scratch[:0], k.Accumulator...), 0)
	name = append(append(name, k.Key...), 0)
	for _, n := range []int64{k.First, int64(k.Shards), int64(k.Done)} {
		name = binary.LittleEndian.AppendUint64(name, uint64(n))
	}
	name = append(name, k.Hash...)
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(name, table), table, k.Outcome))
}

// CheckKey refuses a key whose checksum is not sum.
func CheckKey(k *checkpoint.PushKey, sum int64) error {
	if KeySum(k) == sum {
		return nil
	}
	return fmt.Errorf("%w: the checksum of Idempotency-Key %q does not fit; restore the store from a backup, or "+
		"delete the graph with its state", checkpoint.ErrCorrupt, k.Key)
}

// KeyCut is what retention removes of the keys of a shard, which it is shown newest first. Keys of one moment go
// together: beyond the bound as many may stay as one entry of the journal brings.
type KeyCut struct {
	Retention
	before time.Time
	stays  bool
	any    bool
}

// Look shows it the next one.
func (c *KeyCut) Look(at time.Time, size int64) {
	switch {
	case !c.Removes(at, size):
		c.before, c.stays = at, true
	case !c.stays && !c.any:
		c.before, c.any = at.Add(1), true // none stays
	case at.Before(c.before):
		c.any = true
	}
}

// Remove has del remove keys that are older than a time, in steps of [PruneBatch]: those that have expired, and then
// those that there is no room for.
func (c *KeyCut) Remove(del func(before int64) (n int64, err error)) (expired, displaced int64, err error) {
	if !c.any {
		return 0, 0, nil
	}
	expire := c.before
	if c.OlderThan.Before(expire) {
		expire = c.OlderThan
	}
	for _, step := range []struct {
		before time.Time
		count  *int64
	}{{expire, &expired}, {c.before, &displaced}} {
		for n := int64(PruneBatch); n == PruneBatch && !step.before.IsZero(); {
			if n, err = del(Nanos(step.before)); err != nil {
				return expired, displaced, err
			}
			*step.count += n
		}
	}
	return expired, displaced, nil
}
