package doctor

import "testing"

// TestLittleRoom: a disk that has next to nothing left fails, one with less than a twentieth is warned of.
func TestLittleRoom(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, tc := range []struct {
		free, of uint64
		want     string
	}{
		{littleRoom - 1, gib, Fail}, {littleRoom - 1, littleRoom, Fail}, {littleRoom, gib, OK},
		{littleRoom, 20*littleRoom + 20, Warn}, {12 * gib, 252 * gib, Warn}, {13 * gib, 252 * gib, OK},
	} {
		if verdict, do := enough(tc.free, tc.of); verdict != tc.want || (do == "") != (verdict == OK) {
			t.Errorf("%d of %d free: %s %q, want %s", tc.free, tc.of, verdict, do, tc.want)
		}
	}
}
