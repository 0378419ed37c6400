package poll

import (
	"fmt"
	"strings"
)

// statement is a declared statement that may stand in parentheses.
type statement struct {
	text      string
	parameter bool // it reads $1
	limited   bool // it has a LIMIT, outside of parentheses
}

// parseStatement looks whether a text is one statement that reads, and can stand in the
// parentheses of another: what it says of quotes and comments is what the database would say.
// A database refuses the rest: it runs the statement where nothing can be written.
func parseStatement(text string, sqlite bool) (s statement, problem string) {
	text = strings.TrimRight(text, " \t\r\n;")
	var out strings.Builder
	depth, first := 0, ""
	for i := 0; i < len(text); {
		n, blank := skip(text[i:], sqlite)
		switch c := text[i]; {
		case n == unfinished:
			return s, "a quote or comment of the statement does not end"
		case n > 0:
			if !blank && first == "" {
				first = "a quote"
			}
			out.WriteString(text[i : i+n])
			i += n
			continue
		case c == 0:
			return s, "the statement holds a zero byte"
		case c == ';':
			return s, "there are several statements; one is asked, and it reads"
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return s, "a parenthesis is closed that was not opened"
			}
		case c == '$' || sqlite && strings.IndexByte("?:@", c) >= 0:
			if rest := text[i+1:]; c != '$' || !strings.HasPrefix(rest, "1") || len(rest) > 1 && isWord(rest[1]) {
				return s, "the only parameter is $1"
			}
			s.parameter = true
			out.WriteString(map[bool]string{true: "?1", false: "$1"}[sqlite])
			i += 2
			continue
		case isWord(c):
			n := 1
			for i+n < len(text) && (isWord(text[i+n]) || text[i+n] == '$') {
				n++
			}
			word := strings.ToLower(text[i : i+n])
			if first == "" {
				first = word
			}
			s.limited = s.limited || depth == 0 && (word == "limit" || word == "fetch")
			out.WriteString(text[i : i+n])
			i += n
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	switch {
	case depth > 0:
		return s, "a parenthesis is not closed"
	case first != "select" && first != "with" && first != "values":
		return s, fmt.Sprintf("a statement that is polled begins with SELECT, WITH or VALUES, not with %.20q", first)
	}
	s.text = out.String()
	return s, ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// unfinished is the length of a quote or comment that does not end.
const unfinished = -1

// skip is the length of the quote or comment that a text begins with, 0 when it begins with
// neither; blank says that it is a comment.
func skip(s string, sqlite bool) (n int, blank bool) {
	closing := ""
	switch c := s[0]; {
	case strings.HasPrefix(s, "--"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n, true
		}
		return len(s), true
	case strings.HasPrefix(s, "/*"):
		return comment(s, sqlite), true
	case (c == 'e' || c == 'E') && !sqlite && strings.HasPrefix(s[1:], "'"):
		return escaped(s), false
	case c == '\'' || c == '"' || c == '`' && sqlite:
		closing = s[:1]
	case c == '[' && sqlite:
		closing = "]"
	case c == '$' && !sqlite && dollar(s) != "":
		closing = dollar(s)
	default:
		return 0, false
	}
	begin := max(1, len(closing))
	end := strings.Index(s[begin:], closing)
	if end < 0 {
		return unfinished, false
	}
	return begin + end + len(closing), false // a doubled quote is two quotes that touch
}

// comment is the length of a comment in /* */, which Postgres nests.
func comment(s string, sqlite bool) int {
	for i, depth := 0, 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*") && (depth == 0 || !sqlite):
			depth++
			i++
		case strings.HasPrefix(s[i:], "*/"):
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return unfinished
}

// escaped is the length of E'…', in which a backslash takes the next byte with it.
func escaped(s string) int {
	for i := 2; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			return i + 1
		}
	}
	return unfinished
}

// dollar is the $tag$ that a text begins with, "" when there is none.
func dollar(s string) string {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '$':
			return s[:i+1]
		case !isWord(s[i]) || i == 1 && s[i] >= '0' && s[i] <= '9':
			return ""
		}
	}
	return ""
}

// identifier quotes a name.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columnOf names a column of the statement's rows.
func columnOf(name string) string { return "q." + identifier(name) }
