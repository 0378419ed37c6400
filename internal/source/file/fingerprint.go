package file

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// fingerprintSize is how much of a file tells it from others, where it has so much.
const fingerprintSize = 1 << 10

// streamName is the name of the one stream of a file; what follows the "#" is the generation.
const streamName = "file"

// fingerprint is a hash of a file's first n bytes. It says how many they were, so that it
// still matches when a short file has grown.
type fingerprint struct {
	n   int
	sum [8]byte
}

// fingerprintOf takes the fingerprint of the first n bytes, or of what there is of them.
func fingerprintOf(f io.ReaderAt, n int) (fingerprint, error) {
	var head [fingerprintSize]byte
	got, err := f.ReadAt(head[:min(n, len(head))], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fingerprint{}, fmt.Errorf("read the beginning of the file: %w", err)
	}
	sum := sha256.Sum256(head[:got])
	return fingerprint{n: got, sum: [8]byte(sum[:8])}, nil
}

// stream is the name of the stream in positions.
func (p fingerprint) stream() string {
	return streamName + "#" + strconv.Itoa(p.n) + "-" + hex.EncodeToString(p.sum[:])
}

// parseStream is the inverse of stream.
func parseStream(s string) (fingerprint, bool) {
	rest, ok := strings.CutPrefix(s, streamName+"#")
	size, sum, ok2 := strings.Cut(rest, "-")
	n, err := strconv.Atoi(size)
	if !ok || !ok2 || err != nil || n < 0 || n > fingerprintSize {
		return fingerprint{}, false
	}
	b, err := hex.DecodeString(sum)
	p := fingerprint{n: n}
	if err != nil || len(b) != len(p.sum) {
		return fingerprint{}, false
	}
	copy(p.sum[:], b)
	return p, true
}

// resumePoint is the position among from that is a file's; ok is false when there is none.
func resumePoint(from []boundary.Position) (p boundary.Position, ok bool) {
	for _, p := range from {
		if strings.HasPrefix(p.Stream, streamName+"#") {
			return p, true
		}
	}
	return boundary.Position{}, false
}
