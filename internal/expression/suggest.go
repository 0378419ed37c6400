package expression

import "strings"

// nearest is the candidate that differs least from name, "" when none is near
// enough to be a slip of the finger. Ties go to the first candidate.
func nearest(name string, candidates []string) string {
	best, least := "", min(1+len(name)/3, 3)
	for _, c := range candidates {
		if name != c && alike(name, c) {
			return c
		}
		if len(name) < 2 {
			continue // anything is near to one letter
		}
		// Names are at most 64 bytes where they are declared; longer ones are not worth comparing.
		if c == name || len(c) > 128 || len(name) > 128 {
			continue
		}
		if d := distance(name, c); d <= least && (best == "" || d < distance(name, best)) {
			best = c
		}
	}
	return best
}

// alike reports whether two names differ in case and underscores alone, as countDistinct and count_distinct do.
func alike(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", ""))
}

// distance is the number of bytes to insert, delete, replace or swap with
// their neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
