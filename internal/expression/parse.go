package expression

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
	"github.com/expr-lang/expr/types"

	"github.com/graphd/graphd/internal/expression/elsewhere"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

// What is beyond these is no expression a person writes. They bound the
// recursion of the parser, of the checker and of this package.
const (
	maxText    = 64 << 10 // bytes
	maxNodes   = 10_000   // of the syntax tree
	maxNesting = 200      // brackets within brackets
)

// parse reads the text into a syntax tree.
func parse(text string, config *conf.Config) (*parser.Tree, *Error) {
	switch {
	case len(text) > maxText:
		return nil, &Error{
			Code: CodeTooLarge, Text: "the expression is longer than 64 KiB; split it into several nodes",
		}
	case strings.TrimSpace(text) == "":
		return nil, &Error{Code: CodeSyntax, Text: "the expression is empty"}
	case !utf8.ValidString(text):
		return nil, &Error{Offset: invalidAt(text), Code: CodeSyntax, Text: "the expression is not valid UTF-8"}
	}
	if at, deep := tooDeep(text); deep {
		return nil, &Error{
			Offset: at, Code: CodeTooLarge,
			Text: "brackets are nested more than 200 deep; split the expression into several nodes",
		}
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	return tree, nil
}

// newConfig describes to the parser and the checker what of the scope the text can mean: that a graph's nodes are
// compiled in proportion to their number and not to its square.
func newConfig(text string, s Scope) *conf.Config {
	env := make(types.Map)
	for _, n := range s.Names {
		// What stands for a fold is in no text.
		meant := strings.Contains(text, n.Name) || strings.HasPrefix(n.Name, "$")
		if _, ok := env[n.Name]; !ok && meant {
			env[n.Name] = n.Type.checked()
		}
	}
	c := &conf.Config{
		MaxNodes:  maxNodes,
		Functions: signatures,
	}
	c.WithEnv(env)
	return c
}

// tooDeep finds the bracket that is nested too deep. A text that cannot be cut
// into tokens is left to the parser, which says why.
func tooDeep(text string) (offset int, deep bool) {
	tokens, err := lexer.Lex(file.NewSource(text))
	if err != nil {
		return 0, strings.Count(text, "(")+strings.Count(text, "[")+strings.Count(text, "{") > maxNodes
	}
	depth := 0
	for _, t := range tokens {
		if t.Kind != lexer.Bracket {
			continue
		}
		if !strings.Contains("([{", t.Value) {
			depth--
		} else if depth++; depth > maxNesting {
			return rules.ByteOffset(text, t.From), true
		}
	}
	return 0, false
}

// syntaxError words a parser's error.
func syntaxError(text string, err error) *Error {
	fe, ok := errors.AsType[*file.Error](err)
	if !ok {
		return &Error{Code: CodeSyntax, Text: err.Error()}
	}
	e := &Error{Offset: rules.ByteOffset(text, fe.From), Code: CodeSyntax, Text: plainTokens(fe.Message)}
	switch {
	case e.Text == `unexpected ">"` && strings.HasSuffix(text[:min(e.Offset, len(text))], "<"):
		e.Text += "; write != for what is not equal"
	case strings.Contains(fe.Message, "exceeds maximum allowed nodes"):
		e.Code, e.Text = CodeTooLarge, "the expression has more than 10,000 parts; split it into several nodes"
	case fe.Message == "literal not terminated":
		at, quote := elsewhere.Unclosed(text)
		e.Offset, e.Text = at, "the text that begins here has no end: close it with "+quote
	case strings.HasPrefix(fe.Message, "bad number syntax") && spanAt(text, e.Offset) != "":
		e.Text += "; a duration is written duration(\"" + spanAt(text, e.Offset) + "\")"
	case strings.HasPrefix(fe.Message, "invalid integer literal"):
		e.Text = "the number does not fit an int of 64 bits; write it as a float: 1e20"
	case strings.HasPrefix(fe.Message, "invalid float literal"):
		e.Text = "the number does not fit a float"
	case strings.HasPrefix(fe.Message, "expected at least"):
		if name := calledAt(text, e.Offset); slices.Contains(eval.Loops, name) {
			e.Code, e.Text = CodeWrongArguments, name+" takes a list and what it asks of each element; write "+
				withPredicate(name)
		}
	case strings.Contains(fe.Message, "token EOF"), strings.Contains(fe.Message, "unexpected end"):
		e.Offset, e.Text = len(text), "the expression ends too early"
	}
	return e
}

// calledAt is the name of the function whose brackets are closed at an offset, "" when there is none.
func calledAt(text string, offset int) string {
	depth := 0
	for i := min(offset, len(text)-1); i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				head := strings.TrimRight(text[:i], " ")
				return head[strings.LastIndexFunc(head, func(r rune) bool { return !isWord(r) })+1:]
			}
		}
	}
	return ""
}

// withPredicate is how a call of a function with a predicate is written.
func withPredicate(name string) string {
	switch name {
	case "map":
		return "map(list, .x * 2)"
	case "groupBy", "sortBy":
		return name + "(list, .x)"
	case "reduce":
		return "reduce(list, #acc + #, 0)"
	}
	return name + "(list, .x > 1)"
}

// spans matches what people write for a duration, as 1h30m.
var spans = regexp.MustCompile(`\b(\d{1,9}(\.\d{1,9})?(ns|us|µs|ms|s|m|h)){1,3}\b`)

// spanAt is what would be a duration around an offset; "" for none.
func spanAt(text string, offset int) string {
	for _, at := range spans.FindAllStringIndex(text, -1) {
		if at[0] <= offset && offset <= at[1] {
			return text[at[0]:at[1]]
		}
	}
	return ""
}

// plainTokens turns the lexer's words, such as `unexpected token Operator("=")`, into `unexpected "="`.
func plainTokens(message string) string {
	rest, ok := strings.CutPrefix(message, "unexpected token ")
	if !ok {
		return message
	}
	if open := strings.IndexByte(rest, '('); open >= 0 && strings.HasSuffix(rest, ")") {
		rest = rest[open+1 : len(rest)-1]
	}
	if instead := elsewhere.Word(rest); instead != "" {
		return "unexpected " + rest + "; " + instead
	}
	return "unexpected " + rest
}

// invalidAt is where the first byte that is not UTF-8 stands.
func invalidAt(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i
		}
	}
	return 0
}
