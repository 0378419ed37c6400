// Package handbook finds what the documentation says about a word: a diagnostic's code, a
// field of the declaration, a kind, a health reason, a function, a metric. The pages are the
// only place where it is written down; the command line quotes their tables and sections.
package handbook

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/graphd/graphd/docs"
)

// Entry is what one place says about a word.
type Entry struct {
	Term  string `json:"term"`  // as it stands there
	Where string `json:"where"` // "reactor" of docs/declaration.md
	// Text is what it says, a line or a few paragraphs, without markup.
	Text string `json:"text"`
}

// pages are searched in this order.
var pages = [...]string{"diagnostics.md", "declaration.md", "kinds.md", "windows.md", "joins.md", "loops.md",
	"operations.md", "expressions.md", "concepts.md", "codes.md", "keys.md", "websocket.md", "runbook.md", "wasm.md"}

// furtherPages tell of words that no table or heading of the others is about.
var furtherPages = [...]string{"guarantees.md", "embedding.md", "getting-started.md", "recipes.md", "performance.md",
	"model.md", "access.md", "tokens.md", "tls.md", "configuration.md", "kubernetes.md", "upgrade.md",
	"audit.md"}

// section is a heading with what stands below it.
type section struct {
	page, title string
	lines       []string
}

// Find is what the pages say about a term; the first is meant the most. A path such as
// accumulators.ticks.source.file.follow is looked for under its parts.
func Find(term string) ([]Entry, error) {
	sections, err := read(pages[:])
	if err != nil {
		return nil, err
	}
	parts := strings.Split(term, ".")
	if !strings.ContainsFunc(term, unicode.IsLetter) { // an operator, such as ?.
		parts = []string{term}
	}
	for i := range parts {
		wanted := strings.Join(parts[i:], ".")
		var found []Entry
		for _, s := range sections {
			if s.title == unbuilt {
				found = append(found, s.notYet(parts[:i], wanted)...)
				continue
			}
			if i > 0 && !s.isAbout(parts[:i]) {
				continue
			}
			found = append(found, s.rows(wanted)...)
			if s.isNamed(wanted) {
				found = append(found, Entry{wanted, s.where(), s.text()})
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return mentioned(sections, parts)
}

// mentioned is for words that no row and no heading is about: a row of any section for the last
// part of a path, else the lines that have the word in code marks.
func mentioned(sections []section, path []string) ([]Entry, error) {
	last := path[len(path)-1]
	var found []Entry
	for i := range sections {
		found = append(found, sections[i].rows(last)...)
	}
	if len(found) > 0 {
		return found, nil
	}
	answers, err := fields(last)
	if err != nil {
		return nil, err
	}
	found, err = quotes(sections, path)
	return append(answers, found...), err
}

// quotes are the lines of any section that have the word in code marks.
func quotes(sections []section, path []string) (found []Entry, err error) {
	last := path[len(path)-1]
	further, err := read(furtherPages[:])
	if err != nil {
		return nil, err
	}
	for _, word := range []string{strings.Join(path, "."), last} {
		for _, s := range append(sections, further...) {
			if lines := s.mentions(word); len(lines) > 0 {
				found = append(found, Entry{word, s.where(), strings.Join(lines, "\n")})
			}
			if len(found) == maxMentions {
				return found, nil
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found, nil
}

// maxMentions is how many sections are quoted that only mention a word.
const maxMentions = 3

// mentions are the lines of the section that have the word in code marks.
func (s *section) mentions(word string) []string {
	var lines []string
	for _, line := range s.lines {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if code := m[1]; code == word || slices.Contains(notInWord.Split(code, -1), word) {
				lines = append(lines, sentence(line))
				break
			}
		}
	}
	return lines
}

// sentence is a line in words: of the row of a table what its cells say, one behind the other.
func sentence(line string) string {
	cells := cut(line)
	if cells == nil {
		return plain(line)
	}
	cells = slices.DeleteFunc(cells, func(c string) bool { return c == "" })
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	return strings.Join(cells, ": ")
}

// notInWord is what stands between the words of a piece of code.
var notInWord = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// Terms are all the words that Find knows, for suggestions.
func Terms() ([]string, error) {
	sections, err := read(pages[:])
	if err != nil {
		return nil, err
	}
	var terms []string
	for _, s := range sections {
		for _, line := range s.lines {
			if cells := cut(line); len(cells) > 1 {
				terms = append(terms, words(cells[0])...)
			}
		}
	}
	return terms, nil
}

// read cuts the pages at their headings.
func read(pages []string) ([]section, error) {
	var all []section
	for _, page := range pages {
		text, err := fs.ReadFile(docs.Pages, page)
		if err != nil {
			return nil, fmt.Errorf("read the documentation: %w", err)
		}
		code := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if title := strings.TrimLeft(line, "#"); !code && title != line {
				all = append(all, section{page: page, title: strings.TrimSpace(title)})
				continue
			}
			if n := len(all); n > 0 {
				all[n-1].lines = append(all[n-1].lines, line)
			}
		}
	}
	return all, nil
}

func (s *section) where() string { return fmt.Sprintf("docs/%s, %s", s.page, plain(s.title)) }

// isAbout says whether a section describes the fields below a path: accumulators.NAME of
// accumulators.ticks, the kind file of accumulators.ticks.source.file, Loops of loops.settle.
func (s *section) isAbout(path []string) bool {
	title := plain(s.title)
	first, last := path[0], path[len(path)-1]
	for _, word := range strings.FieldsFunc(title, func(r rune) bool { return r == ',' || r == ' ' }) {
		head, _, _ := strings.Cut(word, ".")
		if strings.EqualFold(head, first) || strings.EqualFold(head, last) {
			return true
		}
	}
	return false
}

// isNamed says whether the section's title is the word, as of a kind.
func (s *section) isNamed(word string) bool {
	for _, w := range words(s.title) {
		if w == word {
			return true
		}
	}
	return strings.EqualFold(plain(s.title), word)
}

// rows are the rows of the section's tables whose first cell names the word.
func (s *section) rows(word string) []Entry {
	var found []Entry
	var head []string
	for _, line := range s.lines {
		cells := cut(line)
		switch {
		case cells == nil:
			head = nil
		case head == nil:
			head = cells
		default:
			for _, w := range words(cells[0]) {
				if w == word || strings.HasPrefix(w, word+".") {
					found = append(found, Entry{w, s.where(), rowText(head, cells)})
					break
				}
			}
		}
	}
	return found
}

// unbuilt is the section that lists what is known and refused.
const unbuilt = "Not yet supported"

// notYet is the word when it is on that list, for the place that the path names.
func (s *section) notYet(path []string, word string) []Entry {
	var found []Entry
	for _, line := range s.lines {
		cells := cut(line)
		if len(cells) != 2 || len(path) > 0 && !strings.HasPrefix(path[0], cells[0]) {
			continue
		}
		for _, w := range words(cells[1]) {
			if w == word {
				found = append(found, Entry{
					w, s.where(), "known, and refused with not_yet_supported (" + cells[0] + ")",
				})
			}
		}
	}
	return found
}

// rowText is a row in words: each cell under its column's name, where it has one.
func rowText(head, cells []string) string {
	var lines []string
	for i := 1; i < len(cells); i++ {
		if cells[i] == "" {
			continue
		}
		text := plain(cells[i])
		if i < len(head) && head[i] != "" && head[i] != "meaning" {
			text = plain(head[i]) + ": " + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// maxSection bounds what is shown of a section; the page has the rest.
const maxSection = 1200

// text is a section in words, without its code and its tables, of which it names the fields.
func (s *section) text() string {
	var b strings.Builder
	code := false
	for _, line := range s.lines {
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "<!--") || line == "" {
			continue
		}
		if b.Len()+len(line) > maxSection {
			b.WriteString("…\n")
			break
		}
		b.WriteString(plain(line) + "\n")
	}
	if named := s.fields(); len(named) > 0 {
		b.WriteString("fields: " + strings.Join(named, ", "))
	}
	return strings.TrimSpace(b.String())
}

// fields are the names in the first column of the section's tables of fields, each of which can be asked for.
func (s *section) fields() (named []string) {
	var head []string
	for _, line := range s.lines {
		switch cells := cut(line); {
		case cells == nil:
			head = nil
		case head == nil:
			head = cells
		case head[0] == "field" && strings.Trim(cells[0], "-:") != "":
			named = append(named, words(cells[0])...)
		}
	}
	return named
}

var (
	quoted  = regexp.MustCompile("`([^`]+)`")
	defined = regexp.MustCompile(`^(?:\*\*)?([a-z_]+)(?:\*\*)?$`)
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// words are what stands in code marks, without what a metric or a call has behind it, or the only word there is.
func words(cell string) []string {
	var all []string
	if m := defined.FindStringSubmatch(cell); m != nil {
		all = append(all, m[1])
	}
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		word, _, _ := strings.Cut(m[1], "{")
		word, _, _ = strings.Cut(word, "(")
		all = append(all, strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(word), ":")))
	}
	return all
}

// plain takes the markup out.
func plain(text string) string {
	text = link.ReplaceAllString(text, "$1")
	return strings.NewReplacer("`", "", "**", "", `\|`, "|").Replace(strings.TrimSpace(text))
}

// cut is the cells of a row of a table, nil when the line is none.
func cut(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "\x00")
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
	}
	return cells
}
