package settings

import (
	"strconv"
	"strings"
)

// Bytes reads a number of bytes, with KiB, MiB, GiB or TiB behind it or nothing; false where it is none above 0.
func Bytes(text string) (n int64, ok bool) {
	digits, unit := strings.TrimSpace(text), int64(1)
	for name, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if rest, ok := strings.CutSuffix(digits, name); ok {
			digits, unit = strings.TrimSpace(rest), size
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > (1<<63-1)/unit {
		return 0, false
	}
	return n * unit, true
}
