package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The oracle reads JSON with encoding/json and adds, in the slowest and plainest way,
// the rules in which a Decoder is stricter. It says what a document means, or the
// set of codes that a refusal may carry.

var (
	escapeRegexp = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|[^u])`)
)

func oracle(doc []byte, maxDepth int) (any, map[string]bool) {
	codes := map[string]bool{}
	if !json.Valid(doc) {
		codes[CodeInvalidJSON] = true
		// What is wrong in several ways is refused for the first one met.
		codes[CodeInvalidUTF8] = true
		codes[CodeDuplicateKey] = true
		codes[CodeTooDeep] = true
		codes[CodeNumberOutOfRange] = true
		return nil, codes
	}
	if !utf8.Valid(doc) || halfSurrogate(string(doc)) {
		codes[CodeInvalidUTF8] = true
	}
	o := oracleReader{dec: json.NewDecoder(bytes.NewReader(doc)), codes: codes, maxDepth: maxDepth}
	o.dec.UseNumber()
	x := o.value(0)
	if len(codes) > 0 {
		return nil, codes
	}
	return x, nil
}

// halfSurrogate looks at the escapes of a valid document.
func halfSurrogate(doc string) bool {
	high := -1 // where a first half ended
	for _, at := range escapeRegexp.FindAllStringIndex(doc, -1) {
		esc := doc[at[0]:at[1]]
		low := false
		if esc[1] == 'u' {
			n, _ := strconv.ParseUint(esc[2:], 16, 32)
			low = n >= 0xDC00 && n <= 0xDFFF
			if low != (high == at[0]) {
				return true
			}
			if n >= 0xD800 && n < 0xDC00 {
				high = at[1]
				continue
			}
		} else if high == at[0] {
			return true
		}
		if high >= 0 && high != at[0] {
			return true
		}
		high = -1
	}
	return high >= 0
}

type oracleReader struct {
	dec      *json.Decoder
	codes    map[string]bool
	maxDepth int
}

// keepable says of a number that it is no integer, fits int64, or has the digits that a
// float has at the least.
func keepable(text string) bool {
	i, ok := new(big.Int).SetString(text, 10)
	if !ok || i.IsInt64() {
		return true
	}
	f, _ := new(big.Float).SetInt(i).Float64()
	shortest, _, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return strings.ReplaceAll(shortest, ".", "") == strings.TrimRight(text, "0")
}

func (o *oracleReader) value(depth int) any {
	tok, err := o.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		o.codes[CodeInvalidJSON] = true
		return nil
	}
	switch tok := tok.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(tok.String(), 64); err != nil {
			o.codes[CodeNumberOutOfRange] = true
		}
		if !keepable(tok.String()) {
			o.codes[CodeNumberOutOfRange] = true
		}
		return tok
	case json.Delim:
		if depth == o.maxDepth {
			o.codes[CodeTooDeep] = true
		}
		if tok == '[' {
			list := []any{}
			for o.dec.More() {
				list = append(list, o.value(depth+1))
			}
			_, _ = o.dec.Token()
			return list
		}
		m := map[string]any{}
		for o.dec.More() {
			key, _ := o.dec.Token()
			name, _ := key.(string)
			if _, twice := m[name]; twice {
				o.codes[CodeDuplicateKey] = true
			}
			m[name] = o.value(depth + 1)
		}
		_, _ = o.dec.Token()
		return m
	}
	return tok
}

// canonicalOracle is the canonical JSON of what the oracle read, by encoding/json.
// It is right where all floats are short.
func canonicalOracle(x any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain(x)); err != nil {
		return err.Error()
	}
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
}

// plain turns json.Numbers into ints and floats.
func plain(x any) any {
	switch x := x.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return i
		}
		f, _ := x.Float64()
		if f == 0 {
			return 0 // -0 is written 0
		}
		return f
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = plain(x[k])
		}
	}
	return x
}
