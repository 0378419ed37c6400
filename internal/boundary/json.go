package boundary

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// AppendJSON appends v as canonical JSON: no white space, keys in byte order at
// every level, no escapes but the needed ones, the shortest number that reads back
// equal. Equal values have the same canonical JSON. Times are RFC 3339 in UTC with
// milliseconds, or nanoseconds where they are needed; durations are written as Go
// does ("1m30s"); an absent value is null, an absent field is left out.
func (v Value) AppendJSON(dst []byte) []byte { return v.appendJSON(dst, false) }

// AppendRawJSON appends v as JSON, a document (or a piece of one) as it came: its
// order of keys, its white space, its way of writing numbers. It is faster than
// AppendJSON, and the same for what was not decoded.
func (v Value) AppendRawJSON(dst []byte) []byte { return v.appendJSON(dst, true) }

// MarshalJSON implements json.Marshaler with AppendJSON.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// String is the canonical JSON, for people and tests.
func (v Value) String() string {
	b := v.AppendJSON(nil)
	return unsafe.String(unsafe.SliceData(b), len(b)) // b is not written again
}

func (v Value) appendJSON(dst []byte, asIs bool) []byte {
	switch r := v.ref.(type) {
	case Kind:
		return v.appendScalar(dst, r)
	case text:
		return rawjson.AppendString(dst, unsafe.String(r, int(v.num)))
	case *object:
		if r.text == nil || v.num&(flagComplete|flagCanonical) == flagComplete && !asIs {
			return r.appendJSON(dst, asIs)
		}
	case built:
		dst = append(dst, '[')
		for i, item := range v.items(r) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst, asIs)
		}
		return append(dst, ']')
	case *table:
		return append(strconv.AppendInt(append(dst, `{"rows":`...), int64(r.len()), 10), '}')
	}
	s, ok := v.raw()
	switch {
	case !ok:
		return append(dst, "null"...)
	case asIs:
		return append(dst, s...)
	}
	return appendText(dst, s, v.num)
}

// appendJSON writes the slots in the order of their names.
func (o *object) appendJSON(dst []byte, asIs bool) []byte {
	dst = append(dst, '{')
	first, slots := true, o.slots()
	for _, i := range o.shape.sorted {
		if slots[i].ref == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, o.shape.quoted[i]...)
		dst = slots[i].appendJSON(dst, asIs)
	}
	return append(dst, '}')
}

// appendText writes a piece of a document canonically; num is that of the piece or
// of what it is a part of.
func appendText(dst []byte, s string, num uint64) []byte {
	if num&flagCanonical != 0 {
		return append(dst, s...)
	}
	switch s[0] {
	case '{':
		return appendObjectText(dst, s, num)
	case '[':
		dst = append(dst, '[')
		t := rawjson.ItemsOf(s)
		for first := true; ; first = false {
			item, ok := t.Next()
			if !ok {
				break
			}
			if !first {
				dst = append(dst, ',')
			}
			dst = appendText(dst, item, num)
		}
		return append(dst, ']')
	case '"':
		if num&flagPlain != 0 || strings.IndexByte(s, '\\') < 0 {
			return append(dst, s...)
		}
		return rawjson.AppendString(dst, rawjson.Unescape(s[1:len(s)-1]))
	case 't', 'f', 'n':
		return append(dst, s...)
	}
	if _, _, ok := rawjson.Short(s, 0); ok {
		return append(dst, s...)
	}
	n, _, _ := rawjson.ReadNumber(s, 0)
	return number(n).appendJSON(dst, false)
}

// appendObjectText writes an object's text with its keys in order.
func appendObjectText(dst []byte, s string, num uint64) []byte {
	var few [16]rawjson.Field // enough for most objects without an allocation
	all := few[:0]
	w, sorted := rawjson.FieldsOf(s), true
	for f, ok := w.Next(); ok; f, ok = w.Next() {
		sorted = sorted && (len(all) == 0 || all[len(all)-1].Name < f.Name)
		all = append(all, f)
	}
	if !sorted {
		slices.SortFunc(all, func(a, b rawjson.Field) int { return strings.Compare(a.Name, b.Name) })
	}
	dst = append(dst, '{')
	for i, f := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		if f.Escaped {
			dst = append(rawjson.AppendString(dst, f.Name), ':')
		} else {
			dst = append(append(append(dst, '"'), f.Name...), '"', ':')
		}
		dst = appendText(dst, f.Value, num)
	}
	return append(dst, '}')
}

func (v Value) appendScalar(dst []byte, k Kind) []byte {
	switch k {
	case KindBool:
		return strconv.AppendBool(dst, v.num != 0)
	case KindInt:
		return strconv.AppendInt(dst, int64(v.num), 10)
	case KindFloat:
		return rawjson.AppendFloat(dst, math.Float64frombits(v.num))
	case KindTime:
		layout := `"2006-01-02T15:04:05.000Z"`
		if int64(v.num)%int64(time.Millisecond) != 0 {
			layout = `"2006-01-02T15:04:05.000000000Z"`
		}
		return time.Unix(0, int64(v.num)).UTC().AppendFormat(dst, layout)
	case KindDuration:
		return append(append(append(dst, '"'), time.Duration(v.num).String()...), '"')
	}
	return append(dst, "null"...)
}
