package pane

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// Hash is the same for keys that are equal, in this process.
func Hash(seed maphash.Seed, v boundary.Value) uint64 {
	if s, ok := v.AsString(); ok {
		return maphash.String(seed, s)
	}
	switch v.Kind() {
	case boundary.KindInt:
		i, _ := v.AsInt()
		return mix(uint64(i) ^ 1<<62)
	case boundary.KindTime:
		t, _ := v.AsTime()
		return mix(uint64(t.UnixNano()))
	case boundary.KindBool:
		if b, _ := v.AsBool(); b {
			return mix(3)
		}
		return mix(5)
	}
	h := uint64(7)
	for part := range v.Items() {
		h = mix(h ^ Hash(seed, part))
	}
	return h
}

// mix spreads the bits of an integer (the finalizer of splitmix64).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Same reports whether two keys are one.
func Same(a, b boundary.Value) bool {
	if s, ok := a.AsString(); ok {
		t, ok := b.AsString()
		return ok && s == t
	}
	return a.IsAbsent() && b.IsAbsent() || boundary.Equal(a, b)
}

// Order orders keys, as cmp.Compare does: false and true, ints, times, strings, and lists part by part.
func Order(a, b boundary.Value) int {
	ak, bk := a.Kind(), b.Kind()
	if ak != bk {
		return cmp.Compare(keyRank(ak), keyRank(bk))
	}
	switch ak {
	case boundary.KindString:
		s, _ := a.AsString()
		t, _ := b.AsString()
		return strings.Compare(s, t)
	case boundary.KindInt:
		i, _ := a.AsInt()
		j, _ := b.AsInt()
		return cmp.Compare(i, j)
	case boundary.KindTime:
		s, _ := a.AsTime()
		t, _ := b.AsTime()
		return s.Compare(t)
	case boundary.KindBool:
		x, _ := a.AsBool()
		y, _ := b.AsBool()
		switch {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	case boundary.KindList:
		for i := range min(a.Len(), b.Len()) {
			if c := Order(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Len(), b.Len())
	}
	return 0
}

func keyRank(k boundary.Kind) int {
	return slices.Index([]boundary.Kind{
		boundary.KindBool, boundary.KindInt, boundary.KindTime, boundary.KindString, boundary.KindList,
	}, k)
}
