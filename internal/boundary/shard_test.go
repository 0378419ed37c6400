package boundary_test

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// M48: the shard of a key is the same for ever. These numbers are in stores and topics: they are never changed.
func TestM48ShardOfAKeyStaysWhatItIs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)
	text, number, whole, yes := boundary.String("AAPL"), boundary.Int(7), boundary.Float(7), boundary.Bool(true)
	for _, c := range []struct {
		parts []boundary.Value
		key   boundary.Key
		of    [4]int // of 2, 7, 64 and 1,024
	}{
		{[]boundary.Value{text}, `"AAPL"`, [4]int{1, 2, 61, 445}},
		{[]boundary.Value{boundary.String("")}, `""`, [4]int{1, 0, 59, 251}},
		{[]boundary.Value{boundary.String("Zürich \"1\"\n")}, `"Zürich \"1\"\n"`, [4]int{0, 1, 50, 306}},
		{[]boundary.Value{number}, `7`, [4]int{1, 1, 55, 695}},
		{[]boundary.Value{whole}, `7`, [4]int{1, 1, 55, 695}},
		{[]boundary.Value{boundary.Int(-1 << 63)}, `-9223372036854775808`, [4]int{0, 1, 16, 16}},
		{[]boundary.Value{boundary.String("7")}, `"7"`, [4]int{1, 3, 57, 953}},
		{[]boundary.Value{yes}, `true`, [4]int{0, 3, 10, 586}},
		{[]boundary.Value{boundary.Bool(false)}, `false`, [4]int{0, 3, 58, 634}},
		{[]boundary.Value{boundary.Time(at)}, `"2026-03-14T15:09:26.535897932Z"`, [4]int{0, 6, 2, 2}},
		{[]boundary.Value{text, number}, `["AAPL",7]`, [4]int{1, 2, 7, 967}},
		{[]boundary.Value{number, text}, `[7,"AAPL"]`, [4]int{1, 6, 51, 947}},
		{[]boundary.Value{text, yes, boundary.Time(at)},
			`["AAPL",true,"2026-03-14T15:09:26.535897932Z"]`, [4]int{1, 0, 5, 133}},
		{nil, ``, [4]int{1, 6, 25, 409}},
	} {
		made, err := boundary.AppendKey(nil, c.parts)
		if err != nil || boundary.Key(made) != c.key {
			t.Errorf("the key is %s (%v), want %s", made, err, c.key)
		}
		got := [4]int{c.key.Shard(2), c.key.Shard(7), c.key.Shard(64), c.key.Shard(1024)}
		if got != c.of {
			t.Errorf("%s is dealt to %v, want %v", c.key, got, c.of)
		}
		if c.key.Shard(1) != 0 {
			t.Errorf("%s is not in the only shard", c.key)
		}
	}
	if _, err := boundary.AppendKey(nil, []boundary.Value{boundary.Null()}); err == nil {
		t.Error("null is a key")
	}
}
