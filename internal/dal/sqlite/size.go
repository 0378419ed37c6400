package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/graphd/graphd/internal/checkpoint"
)

// checkSize refuses a database that was cut short. SQLite itself looks at the size of the
// file with the first page that it misses, which may be never. Pages that a checkpoint of the log
// was about to write when its process died are in the log still, and are not missed.
//
// It reads the first page's header and those of the log's frames, and nothing else. The
// database must not be open: see [filelock.Lock].
func checkSize(f *os.File, path string) error {
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:16]) != "SQLite format 3\x00" {
		return nil // SQLite says so in its own words
	}
	size := int64(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if size < 512 || binary.BigEndian.Uint32(head[24:]) != binary.BigEndian.Uint32(head[92:]) {
		return nil // the number of pages is not to be trusted, and SQLite counts them itself
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	whole := info.Size() / size
	if whole >= pages {
		return nil
	}
	logged, err := loggedPages(path+"-wal", size, whole)
	if err != nil {
		return err
	}
	if lost := pages - whole - int64(len(logged)); lost > 0 {
		return fmt.Errorf("%w: the file is cut short: %d of its %d pages are missing; restore it from a backup",
			checkpoint.ErrCorrupt, lost, pages)
	}
	return nil
}

// loggedPages are the pages past a number that the log has.
func loggedPages(name string, size, past int64) (map[uint32]bool, error) {
	pages := map[uint32]bool{}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return pages, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var number [4]byte
	for at := int64(32); ; at += 24 + size {
		_, err := f.ReadAt(number[:], at)
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return nil, err
		}
		if n := binary.BigEndian.Uint32(number[:]); int64(n) > past {
			pages[n] = true
		}
	}
}
