package terminal

import "strings"

// Nearest is the name that differs from word in case, underscores and dashes alone, or else the one that is at most a
// third of its letters away, or "".
func Nearest(word string, names []string) string {
	best, limit := "", len(word)/3+1
	for _, name := range names {
		if strings.EqualFold(bare(word), bare(name)) {
			return name
		}
		if d := distance(word, name); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

func bare(word string) string { return strings.ReplaceAll(strings.ReplaceAll(word, "_", ""), "-", "") }

// distance is how many letters must be added, taken away, changed or swapped with their
// neighbour to get from a to b.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // two rows up
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
