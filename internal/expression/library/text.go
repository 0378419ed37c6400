package library

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

var textFunctions = []eval.Function{
	fixed("string", boundary.KindString, asText(eval.PlainText), eval.Anything),
	fixed("toJSON", boundary.KindString, asText(func(v value) string {
		return string(v.AppendJSON(nil))
	}), eval.Anything),
	fixed("fromJSON", varies, fromJSON, text),
	fixed("type", boundary.KindString, func(_ *env, _ site, args []value) value {
		return boundary.String(args[0].Kind().String())
	}, eval.Anything),
	fixed("len", boundary.KindInt, length, text|list|object|eval.Table),
	fixed("upper", boundary.KindString, mapText(strings.ToUpper), text),
	fixed("lower", boundary.KindString, mapText(strings.ToLower), text),
	ranged("trim", 1, 2, boundary.KindString, trim, text, text),
	ranged("trimPrefix", 1, 2, boundary.KindString, trimSide(strings.TrimPrefix), text, text),
	ranged("trimSuffix", 1, 2, boundary.KindString, trimSide(strings.TrimSuffix), text, text),
	ranged("split", 2, 3, boundary.KindList, split(strings.SplitN), text, text, eval.Int),
	ranged("splitAfter", 2, 3, boundary.KindList, split(strings.SplitAfterN), text, text, eval.Int),
	ranged("replace", 3, 4, boundary.KindString, replace, text, text, text, eval.Int),
	fixed("repeat", boundary.KindString, repeat, text, eval.Int),
	ranged("join", 1, 2, boundary.KindString, joinTexts, list, text),
	fixed("indexOf", boundary.KindInt, find(strings.Index), text, text),
	fixed("lastIndexOf", boundary.KindInt, find(strings.LastIndex), text, text),
	fixed("hasPrefix", boundary.KindBool, ask(strings.HasPrefix), text, text),
	fixed("hasSuffix", boundary.KindBool, ask(strings.HasSuffix), text, text),
	{Name: Captures, Params: []eval.Kinds{text | eval.Null, text}, Result: varies, Call: captures,
		Prepare: capturesOf},
	fixed("toBase64", boundary.KindString, func(e *env, at site, args []value) value {
		return e.String(at, base64.StdEncoding.EncodeToString([]byte(str(args[0]))))
	}, text),
	fixed("fromBase64", boundary.KindString, fromBase64, text),
}

// asText writes any value. How long a text becomes is known well enough beforehand.
func asText(f func(value) string) call {
	return func(e *env, at site, args []value) value {
		if args[0].Depth() > 0 && !e.Fits(at, args[0].Size()/4) {
			return absent()
		}
		return e.String(at, f(args[0]))
	}
}

func fromJSON(e *env, at site, args []value) value {
	v, err := boundary.NewDecoder(nil, boundary.Limits{}).Decode([]byte(str(args[0])))
	if err != nil {
		return e.Fail(at, rules.CodeInvalidArgument, "fromJSON: %s", err)
	}
	return v
}

func fromBase64(e *env, at site, args []value) value {
	b, err := base64.StdEncoding.DecodeString(str(args[0]))
	if err != nil || !utf8.Valid(b) {
		return e.Fail(at, rules.CodeInvalidArgument, "fromBase64: the string is not the Base64 of a text")
	}
	return boundary.String(string(b))
}

// length is the number of characters, elements or fields.
func length(e *env, at site, args []value) value {
	if s, ok := args[0].AsString(); ok {
		return boundary.Int(int64(utf8.RuneCountInString(s)))
	}
	if args[0].Kind() == boundary.KindTable && !e.Knows(at, args[0]) {
		return absent()
	}
	return boundary.Int(int64(args[0].Len()))
}

func mapText(f func(string) string) call {
	return func(_ *env, _ site, args []value) value { return boundary.String(f(str(args[0]))) }
}

func ask(f func(s, part string) bool) call {
	return func(_ *env, _ site, args []value) value { return boundary.Bool(f(str(args[0]), str(args[1]))) }
}

// find tells a place in characters, as len and slices count them; -1 when there is none.
func find(f func(s, part string) int) call {
	return func(_ *env, _ site, args []value) value {
		s := str(args[0])
		i := f(s, str(args[1]))
		if i > 0 {
			i = utf8.RuneCountInString(s[:i])
		}
		return boundary.Int(int64(i))
	}
}

// trim cuts off white space, or the characters that are given.
func trim(_ *env, _ site, args []value) value {
	if len(args) == 1 {
		return boundary.String(strings.TrimSpace(str(args[0])))
	}
	return boundary.String(strings.Trim(str(args[0]), str(args[1])))
}

// trimSide cuts off a prefix or suffix, a space when none is given.
func trimSide(f func(s, side string) string) call {
	return func(_ *env, _ site, args []value) value {
		side := " "
		if len(args) == 2 {
			side = str(args[1])
		}
		return boundary.String(f(str(args[0]), side))
	}
}

// limit is an optional count at the end of the arguments; less than 0 is no limit.
func limit(args []value, i int) int {
	if len(args) <= i {
		return -1
	}
	return int(min(max(integer(args[i]), -1), eval.MaxItems+1))
}

func split(f func(s, sep string, n int) []string) call {
	return func(e *env, at site, args []value) value {
		s, sep, n := str(args[0]), str(args[1]), limit(args, 2)
		parts := strings.Count(s, sep) + 1
		if n >= 0 {
			parts = min(parts, n)
		}
		if !e.Room(at, parts) {
			return absent()
		}
		items := make([]value, 0, parts)
		for _, part := range f(s, sep, n) {
			items = append(items, boundary.String(part))
		}
		return boundary.List(items)
	}
}

func replace(e *env, at site, args []value) value {
	s, old, with, n := str(args[0]), str(args[1]), str(args[2]), limit(args, 3)
	times := strings.Count(s, old)
	if n >= 0 {
		times = min(times, n)
	}
	// Both factors are at most some 2^23: the product fits.
	if !e.Fits(at, len(s)+times*(len(with)-len(old))) {
		return absent()
	}
	return boundary.String(strings.Replace(s, old, with, n))
}

func repeat(e *env, at site, args []value) value {
	s, n := str(args[0]), integer(args[1])
	if n < 0 {
		return e.Fail(at, rules.CodeInvalidArgument, "cannot repeat a string %d times", n)
	}
	n = min(n, rules.MaxString+1) // of an empty string any number would do
	if !e.Fits(at, len(s)*int(n)) {
		return absent()
	}
	return boundary.String(strings.Repeat(s, int(n)))
}

func joinTexts(e *env, at site, args []value) value {
	glue := ""
	if len(args) == 2 {
		glue = str(args[1])
	}
	var b strings.Builder
	first := true
	for item := range args[0].Items() {
		s, ok := item.AsString()
		if !ok {
			return e.Fail(at, rules.CodeTypeError, "join needs strings in the list, got %s", rules.Present(item).Kind())
		}
		if !first {
			b.WriteString(glue)
		}
		first = false
		b.WriteString(s)
		if b.Len() > rules.MaxString {
			break
		}
	}
	return e.String(at, b.String())
}
