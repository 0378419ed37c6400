package form

import (
	"strings"
	"testing"
)

// M54, M55: a record of a graph that is not dealt is what it was before graphs were, byte for byte; that of a shard
// is in a format that older releases refuse, for they would take it for the whole.
func TestM54RecordsSayWhatTheyAreDealtFor(t *testing.T) {
	t.Parallel()
	for shards, want := range map[int]string{
		0: `{"format":2,"plan":"p",`, 1: `{"format":2,"plan":"p",`, 4: `{"format":3,"shards":4,"plan":"p",`,
	} {
		m := Meta{Shards: shards, Plan: "p"}
		text := string(m.Append(nil))
		if !strings.HasPrefix(text, want) {
			t.Errorf("%d shards: %s", shards, text)
		}
		if back, there, err := ReadMeta([]byte(text)); err != nil || !there || back.Dealt() != max(shards, 1) {
			t.Errorf("%d shards: read back as %d, %v, %v", shards, back.Dealt(), there, err)
		}
	}
	m := Meta{Shards: 4, DealtBy: "crc32", Plan: "p"}
	text := string(m.Append(nil))
	if !strings.HasPrefix(text, `{"format":4,"shards":4,"dealt_by":"crc32","plan":"p",`) {
		t.Errorf("by another function: %s", text)
	}
	if back, _, err := ReadMeta([]byte(text)); err != nil || back.DealtBy != "crc32" {
		t.Errorf("by another function: read back as %+v, %v", back, err)
	}
	m = Meta{Shards: 1, DealtBy: "crc32", Plan: "p"}
	if text := string(m.Append(nil)); !strings.HasPrefix(text, `{"format":2,"plan":"p",`) {
		t.Errorf("one shard by another function: %s", text)
	}
	if _, _, err := ReadMeta([]byte(`{"format":5}`)); err == nil {
		t.Error("a format of the future is read")
	}
}
