package once

import "crypto/sha256"

// ValidKey says whether a text can be an Idempotency-Key.
func ValidKey(key string) bool {
	if len(key) == 0 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// Hash tells bodies apart, NDJSON from JSON among them.
func Hash(data []byte, lines bool) [sha256.Size]byte {
	h := sha256.New()
	if lines {
		_, _ = h.Write([]byte{1}) // a hash never fails
	} else {
		_, _ = h.Write([]byte{0})
	}
	_, _ = h.Write(data)
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}
