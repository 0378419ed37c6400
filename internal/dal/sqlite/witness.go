package sqlite

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

// witness is the file PATH.acks: how far each graph was when that was acknowledged. It is kept
// outside the database, because SQLite ends its log at the first frame that is damaged and
// takes what lies before for all there is. A graph that the database has less of than the
// witness is refused, with what is missing.
//
// It is written after COMMIT and before the acknowledgement, so it never says more than the
// database has. Written is not synced: that is done once a second. A loss of power leaves
// it a second old at most, and it then says less than it could, which is no false alarm.
//
// The database names its witness by a number, and notes whether it was closed cleanly: only
// then is a witness that is gone, or another's, made anew. An empty one is a person's word to go
// on with what the database has. The witness belongs to the goroutine that writes.
type witness struct {
	file  *os.File
	image []byte             // of the file
	stale []int64            // places of the image that the file does not have yet
	slots map[[16]byte]*slot // by graph
	dirty bool               // written since the last sync
}

// slot is what is known of one graph. It lies within one sector, and is written as a whole.
type slot struct {
	at                        int64 // its place; 0 when it has none yet
	incarnation, seq, journal int64
}

const (
	slotSize     = 64
	witnessMagic = "graphd acks 1\n\x00\x00"
	// witnessEvery is how often what was written is synced.
	witnessEvery = time.Second

	selectFile = `SELECT id, clean FROM store_file`
	insertFile = `INSERT INTO store_file (id, clean) VALUES (?, 0)`
	updateFile = `UPDATE store_file SET id = ?, clean = ?`
)

func witnessPath(path string) string { return path + ".acks" }

// openWitness opens the witness of the database that c is connected to, or makes it where
// that is safe.
func openWitness(c *sqlconn.Conn, path string) (*witness, error) {
	r, err := c.First(selectFile)
	if err != nil {
		return nil, explain(err)
	}
	var id []byte
	clean := true
	if r != nil {
		id, clean = r.Blob(0), r.Int(1) != 0
	}
	name := witnessPath(path)
	data, err := os.ReadFile(name)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what was acknowledged: %w", err)
	}
	if there && len(data) > 0 && r != nil && bytes.Equal(witnessOf(data), id) {
		w, err := readWitness(name, data)
		if err != nil {
			return nil, err
		}
		if err := w.open(name, os.O_RDWR); err != nil {
			return nil, err
		}
		return w, w.bind(c, id, false)
	}
	if !clean && !(there && len(data) == 0) {
		return nil, fmt.Errorf("%w: the store was not closed cleanly, and %s, which says what was acknowledged, is "+
			"gone or another store's; "+
			"put it back, or make an empty file of that name to go on with what the store has", checkpoint.ErrCorrupt,
			name)
	}
	return makeWitness(c, name, r == nil)
}

// makeWitness begins anew, the file first: a database never names a witness that was not made.
func makeWitness(c *sqlconn.Conn, name string, first bool) (*witness, error) {
	row, err := c.First("SELECT randomblob(16)")
	if err != nil {
		return nil, explain(err)
	}
	id := row.Blob(0)
	w := &witness{slots: map[[16]byte]*slot{}, image: make([]byte, slotSize)}
	if err := w.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC); err != nil {
		return nil, err
	}
	copy(w.image, witnessMagic)
	copy(w.image[16:], id)
	w.setHead()
	if err = w.flush(); err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		_ = w.file.Close() // the error that matters is err
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return w, w.bind(c, id, first)
}

func (w *witness) open(name string, flags int) (err error) {
	if w.file, err = os.OpenFile(name, flags, 0o600); err != nil {
		return fmt.Errorf("open what was acknowledged: %w", err)
	}
	return nil
}

// bind notes in the database which witness it has, and that it is open: in the file itself, for
// a log that is lost must not take that along.
func (w *witness) bind(c *sqlconn.Conn, id []byte, first bool) error {
	var err error
	if first {
		_, err = c.Exec(insertFile, id)
	} else {
		_, err = c.Exec(updateFile, id, int64(0))
	}
	if err == nil {
		err = c.Script("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err != nil {
		_ = w.file.Close() // as above
		return explain(err)
	}
	return nil
}

// witnessOf is the number of a witness; nil when the bytes are none.
func witnessOf(data []byte) []byte {
	if len(data) < slotSize || string(data[:16]) != witnessMagic {
		return nil
	}
	return data[16:32]
}

func readWitness(name string, data []byte) (*witness, error) {
	w := &witness{slots: map[[16]byte]*slot{}, image: data}
	damaged := func(at int64) error {
		return fmt.Errorf("%w: %s, which says what was acknowledged, is damaged at byte %d; put it back, or make it "+
			"empty to go on with what the store has",
			checkpoint.ErrCorrupt, name, at)
	}
	if end := int64(binary.LittleEndian.Uint64(data[32:])); crc32.Checksum(data[:40],
		castagnoli()) != binary.LittleEndian.Uint32(data[40:]) || end > int64(len(data)) {
		return nil, damaged(int64(len(data)))
	} else {
		w.image = data[:end] // a slot past the end was never used
	}
	for at := slotSize; at+slotSize <= len(w.image); at += slotSize {
		b := w.image[at : at+slotSize]
		if bytes.Equal(b, make([]byte, slotSize)) {
			continue // a graph that was deleted
		}
		if crc32.Checksum(b[:40], castagnoli()) != binary.LittleEndian.Uint32(b[40:]) {
			return nil, damaged(int64(at))
		}
		w.slots[[16]byte(b)] = &slot{
			at: int64(at), incarnation: int64(binary.LittleEndian.Uint64(b[16:])),
			seq: int64(binary.LittleEndian.Uint64(b[24:])), journal: int64(binary.LittleEndian.Uint64(b[32:])),
		}
	}
	return w, nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// slotKey names a graph in a witness.
func slotKey(id checkpoint.ID) [16]byte {
	sum := sha256.Sum256([]byte(id.Tenant + "\x00" + id.Graph + "\x00" + strconv.Itoa(id.Shard)))
	return [16]byte(sum[:16])
}

// check refuses a head that is behind what was acknowledged.
func (w *witness) check(id checkpoint.ID, head *checkpoint.Head) error {
	s := w.slots[slotKey(id)]
	if s == nil {
		return nil
	}
	missing := ""
	switch {
	case head.Instance == "" && s.incarnation > 0:
		missing = "all that it had"
	case head.Journal < s.journal:
		missing = fmt.Sprintf("journal entries %d to %d", head.Journal+1, s.journal)
	case head.Seq < s.seq:
		missing = fmt.Sprintf("commits %d to %d", head.Seq+1, s.seq)
	case head.Incarnation < s.incarnation:
		missing = fmt.Sprintf("starts %d to %d", head.Incarnation+1, s.incarnation)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s were acknowledged and are missing: the store's log was damaged or lost; "+
		"restore the store from a backup, or delete the graph with its state", checkpoint.ErrCorrupt, missing)
}

// room makes sure that the graph has a slot, before anything of it is acknowledged.
func (w *witness) room(id checkpoint.ID) error {
	key := slotKey(id)
	if w.slots[key] != nil {
		return nil
	}
	s := &slot{at: int64(len(w.image))}
	w.image = append(w.image, make([]byte, slotSize)...)
	w.slots[key] = s
	w.set(key, s)
	w.setHead()
	return w.flush()
}

// note keeps what has been committed of a graph, by how it changes its slot. It is for flush to write.
func (w *witness) note(id checkpoint.ID, change func(s *slot)) {
	key := slotKey(id)
	if s := w.slots[key]; s != nil { // not deleted meanwhile
		change(s)
		w.set(key, s)
	}
}

func (w *witness) set(key [16]byte, s *slot) {
	b := w.image[s.at : s.at+slotSize]
	copy(b, key[:])
	binary.LittleEndian.PutUint64(b[16:], uint64(s.incarnation))
	binary.LittleEndian.PutUint64(b[24:], uint64(s.seq))
	binary.LittleEndian.PutUint64(b[32:], uint64(s.journal))
	binary.LittleEndian.PutUint32(b[40:], crc32.Checksum(b[:40], castagnoli()))
	w.stale = append(w.stale, s.at)
}

// setHead says how far the slots go: a witness that was cut short is noticed.
func (w *witness) setHead() {
	binary.LittleEndian.PutUint64(w.image[32:], uint64(len(w.image)))
	binary.LittleEndian.PutUint32(w.image[40:], crc32.Checksum(w.image[:40], castagnoli()))
	w.stale = append(w.stale, 0)
}

// forget drops a graph that is about to be deleted, all of its shards.
func (w *witness) forget(id checkpoint.ID) error {
	key := slotKey(id)
	s := w.slots[key]
	if s == nil {
		return nil
	}
	delete(w.slots, key)
	clear(w.image[s.at : s.at+slotSize])
	w.stale = append(w.stale, s.at)
	return w.flush()
}

// flush writes what has changed. Slots that lie near each other are one write: a call costs
// more than the bytes between them.
func (w *witness) flush() error {
	const near = 4096
	slices.Sort(w.stale)
	for len(w.stale) > 0 {
		n := 1
		for n < len(w.stale) && w.stale[n]-w.stale[n-1] <= near {
			n++
		}
		from, to := w.stale[0], w.stale[n-1]+slotSize
		if _, err := w.file.WriteAt(w.image[from:to], from); err != nil {
			return fmt.Errorf("note what is acknowledged: %w", err)
		}
		w.stale = slices.Delete(w.stale, 0, n)
		w.dirty = true
	}
	return nil
}

// sync brings to the disk what was written.
func (w *witness) sync() {
	if w.dirty && w.file.Sync() == nil {
		w.dirty = false
	}
}

// close notes in the database that it was closed cleanly. The witness stays.
func (w *witness) close(c *sqlconn.Conn) error {
	err := w.file.Sync()
	if err == nil && c != nil {
		_, err = c.Exec("UPDATE store_file SET clean = 1")
	}
	return errors.Join(explain(err), w.file.Close())
}
