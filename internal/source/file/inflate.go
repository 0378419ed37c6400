package file

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// How compressed files begin.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
)

// maxWindow bounds what a zstd file may have the reader hold: as much as the command zstd
// takes without being told to.
const maxWindow = 128 << 20

// Inflate is what src holds, unpacked when it is gzip or zstd. Its first bytes decide, not its
// name; several files packed one after the other are one. It starts no goroutine.
func Inflate(src io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(src, blockSize)
	// A file that is shorter has no such beginning, and an error comes again with the reading.
	head, _ := in.Peek(len(zstdMagic))
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpack gzip: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("unpack zstd: %w", err)
		}
		return z, nil
	}
	return in, nil
}
