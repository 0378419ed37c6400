package rules

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/graphd/graphd/internal/checkpoint"
)

// HeadSum is the checksum of what a commit writes into the head.
func HeadSum(epoch, seq, at int64, meta []byte) int64 {
	var numbers [24]byte
	binary.LittleEndian.PutUint64(numbers[0:], uint64(epoch))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(seq))
	binary.LittleEndian.PutUint64(numbers[16:], uint64(at))
	table := crc32.MakeTable(crc32.Castagnoli) // made once, by the library
	return int64(crc32.Update(crc32.Checksum(numbers[:], table), table, meta))
}

// CellSum is the checksum of a cell, its name included. The zero bytes keep apart
// names that would be one when written after each other.
func CellSum(c *checkpoint.Cell) int64 {
	var scratch [128]byte
	name := append(scratch[:0], c.Kind...)
	name = append(append(name, 0), c.Name...)
	name = append(append(name, 0), c.Key...)
	name = append(name, 0)
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(name, table), table, c.Data))
}

// EntrySum is the checksum of an outbox entry, its names and number included.
func EntrySum(e *checkpoint.OutboxEntry) int64 {
	var scratch [128]byte
	name := append(append(scratch[:0], e.Output...), 0)
	name = append(append(name, e.FiringID...), 0)
	name = binary.LittleEndian.AppendUint64(name, uint64(e.Seq))
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(name, table), table, e.Data))
}

// JournalSum is the checksum of a journal entry, its number included.
func JournalSum(e *checkpoint.JournalEntry) int64 {
	var scratch [8]byte
	number := binary.LittleEndian.AppendUint64(scratch[:0], uint64(e.Seq))
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(number, table), table, e.Data))
}
