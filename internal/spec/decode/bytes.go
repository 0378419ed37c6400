package decode

import (
	"strconv"
	"strings"
)

// Bytes reads a number of bytes: a whole number, or one with a unit such as 256MiB.
func (d *Decoder) Bytes(v Value, least, most int64, into *int64) {
	const want = "a number of bytes such as 256MiB or 268435456"
	s, ok := d.scalar(v, want, false)
	if !ok {
		return
	}
	text, factor := strings.TrimSpace(s.text), int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if number, has := strings.CutSuffix(text, unit); has {
			text, factor = strings.TrimSpace(number), 1<<(10*(i+1))
			break
		}
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	switch {
	case err != nil:
		d.WrongType(v, want)
	case n < 0 || n > most/factor || n*factor < least:
		d.outOfRange(v, least, most)
	default:
		*into = n * factor
	}
}
