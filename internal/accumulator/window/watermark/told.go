package watermark

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
)

// Told is the watermark as others are told it; ok is false before the first event.
func (w *Watermark) Told() (told fold.Watermark, ok bool) {
	p := w.Slowest()
	if w.Mark == NoTime || p == nil {
		return told, false
	}
	return fold.Watermark{At: nanoTime(w.Mark), HeldBy: p.Name, Newest: nanoTime(p.Max)}, true
}

// Partitioned is what [Watermark.Told] says, with so many partitions at most; nil before the first event.
func (w *Watermark) Partitioned(most int) *fold.Watermark {
	told, ok := w.Told()
	if !ok {
		return nil
	}
	behind := w.behind()
	told.All = len(behind)
	for _, p := range behind[:min(most, len(behind))] {
		told.Partitions = append(told.Partitions,
			fold.Partition{Name: p.Name, Newest: nanoTime(p.Max), Heard: nanoTime(p.Since), Idle: p.Idle})
	}
	return &told
}

// nanoTime is a time of a watermark, zero for none.
func nanoTime(at int64) time.Time {
	if at == NoTime {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

// behind are the partitions, first those that are furthest behind, of which the first is the [Watermark.Slowest], and
// last those that have had no event.
func (w *Watermark) behind() []Partition {
	list := slices.Clone(w.Parts)
	slices.SortStableFunc(list, func(a, b Partition) int {
		switch {
		case (a.Max == NoTime) != (b.Max == NoTime):
			return cmp.Compare(b.Max, a.Max)
		case a.Idle != b.Idle && b.Idle:
			return -1
		case a.Idle != b.Idle:
			return 1
		case a.Idle:
			return cmp.Compare(b.Max, a.Max)
		}
		return cmp.Compare(a.Max, b.Max)
	})
	return list
}
