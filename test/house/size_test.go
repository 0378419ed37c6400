package house

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxPackage = 2500 // lines of a package, without its tests
	maxFile    = 400  // lines of a file
	maxWidth   = 120  // columns of a line
	tabWidth   = 4
)

// TestPackageSize: a package that outgrows the limit holds more than one thing.
func TestPackageSize(t *testing.T) {
	atRoot(t)
	t.Parallel()
	listed := map[string]bool{}
	for _, x := range largePackages {
		listed[x.dir] = true
		if x.decision == "" {
			continue
		}
		if found, err := filepath.Glob(filepath.Join("docs", "decisions", x.decision+"-*.md")); err != nil ||
			len(found) != 1 {
			t.Errorf("%s names the decision %s, and docs/decisions has %d of that number", x.dir, x.decision,
				len(found))
		}
	}
	for _, p := range packages(t) {
		limit := maxPackage
		for _, x := range largePackages {
			if x.dir == p.dir {
				limit = x.ceiling
			}
		}
		switch n := p.production(); {
		case n > limit:
			t.Errorf("%s has %d lines beside its tests, and may have %d: split it by meaning, or say in "+
				"docs/decisions why it is one thing", p.name(), n, limit)
		case n <= maxPackage && listed[p.dir]:
			t.Errorf("%s has %d lines and needs no exception any more: take it out of exceptions_test.go", p.name(), n)
		}
		delete(listed, p.dir)
	}
	for dir := range listed {
		t.Errorf("%s is not there any more: take it out of exceptions_test.go", dir)
	}
}

// TestFileSize: a file is about one thing.
func TestFileSize(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			limit, excepted := longFiles[f.path]
			switch {
			case !excepted && f.lines > maxFile:
				t.Errorf("%s has %d lines, and may have %d: split it by meaning", f.path, f.lines, maxFile)
			case excepted && f.lines > limit:
				t.Errorf("%s has %d lines, and its exception allows %d", f.path, f.lines, limit)
			case excepted && f.lines <= maxFile:
				t.Errorf("%s has %d lines and needs no exception any more: take it out of exceptions_test.go", f.path,
					f.lines)
			}
		}
	}
}

// TestLineWidth: a line is read without scrolling.
func TestLineWidth(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		for _, f := range p.files {
			if n, first := wideLines(f); n > 0 {
				t.Errorf("%s has %d lines over %d columns, the first at %s", f.path, n, maxWidth, first)
			}
		}
	}
}

// wideLines counts a file's lines beyond the limit, and says where the first is.
func wideLines(f *file) (n int, first string) {
	line, column := 1, 0
	for i := 0; i < len(f.text); {
		r, size := utf8.DecodeRuneInString(f.text[i:])
		i += size
		switch r {
		case '\n':
			line, column = line+1, 0
			continue
		case '\t':
			column += tabWidth - column%tabWidth
		default:
			column++
		}
		if column > maxWidth && (i == len(f.text) || f.text[i] == '\n') {
			if n++; first == "" {
				first = f.path + ":" + strconv.Itoa(line)
			}
		}
	}
	return n, first
}

// TestWideLineIsSeen: the count is by columns, and not by bytes.
func TestWideLineIsSeen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		strings.Repeat("x", 120) + "\n" + strings.Repeat("é", 120) + "\n": 0,
		strings.Repeat("x", 121) + "\n":                                   1,
		"\t" + strings.Repeat("é", 117) + "\nshort\n":                     1,
		strings.Repeat("\t", 30) + "\n" + strings.Repeat("\t", 31):        1,
	} {
		if got, at := wideLines(&file{path: "f", text: text}); got != want {
			t.Errorf("%q has %d wide lines (%s), want %d", text, got, at, want)
		}
	}
}
