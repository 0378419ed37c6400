package poll

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/graphd/graphd/internal/boundary"
)

var (
	errNotFinite = errors.New("infinite numbers and NaN cannot be held")
	errText      = errors.New("the text is not UTF-8")
)

// postgresValue is a value of a column's type, which the server wrote as text; nil is null.
func postgresValue(types *pgtype.Map, oid uint32, text []byte) (boundary.Value, error) {
	if text == nil {
		return boundary.Null(), nil
	}
	s := string(text)
	switch oid {
	case pgtype.BoolOID:
		return boundary.Bool(s == "t"), nil
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID:
		n, err := strconv.ParseInt(s, 10, 64)
		return boundary.Int(n), err
	case pgtype.Float4OID, pgtype.Float8OID:
		return finite(s)
	case pgtype.NumericOID:
		return numeric(s)
	case pgtype.TimestampOID:
		return instant("2006-01-02 15:04:05.999999", s)
	case pgtype.TimestamptzOID:
		return instant("2006-01-02 15:04:05.999999-07", s)
	case pgtype.JSONOID, pgtype.JSONBOID:
		return boundary.NewDecoder(nil, boundary.Limits{MaxBytes: maxResultBytes}).Decode([]byte(s))
	case pgtype.ByteaOID:
		b, err := hex.DecodeString(strings.TrimPrefix(s, `\x`))
		return boundary.String(base64.StdEncoding.EncodeToString(b)), err
	}
	if list, ok, err := array(types, oid, text); ok {
		return list, err
	}
	if !utf8.ValidString(s) {
		return boundary.Value{}, errText
	}
	return boundary.String(s), nil
}

func finite(s string) (boundary.Value, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return boundary.Value{}, errNotFinite
	}
	return boundary.Float(f), nil
}

// numeric is a decimal number, exactly: an int where it has no fraction and fits, a float
// where that holds its digits, and its text otherwise.
func numeric(s string) (boundary.Value, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return boundary.Int(n), nil
	}
	v, err := finite(s)
	if err != nil {
		if s == "NaN" || strings.HasSuffix(s, "Infinity") {
			return v, err
		}
		return boundary.String(s), nil // beyond what a float reaches
	}
	f, _ := v.AsFloat()
	digits := s
	if strings.Contains(s, ".") {
		digits = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if strconv.FormatFloat(f, 'f', -1, 64) != digits {
		return boundary.String(s), nil
	}
	return v, nil
}

func instant(layout, s string) (boundary.Value, error) {
	t, err := time.Parse(layout, s)
	if err != nil || !boundary.Holds(t) {
		return boundary.Value{}, boundary.ErrTimeRange // infinity and BC are out of range too
	}
	return boundary.Time(t.UTC()), nil
}

// array is a list of one dimension; ok is false for what is no array, and for those of more,
// which stay text.
func array(types *pgtype.Map, oid uint32, text []byte) (list boundary.Value, ok bool, err error) {
	t, known := types.TypeForOID(oid)
	if !known || len(text) == 0 || text[0] != '{' || strings.HasPrefix(string(text), "{{") {
		return list, false, nil
	}
	codec, known := t.Codec.(*pgtype.ArrayCodec)
	if !known || codec.ElementType.OID == pgtype.BoxOID { // whose elements have another comma
		return list, false, nil
	}
	var texts []*string
	if err := types.Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, text, &texts); err != nil {
		return list, true, errors.New("the array cannot be read")
	}
	items := make([]boundary.Value, len(texts))
	for i, s := range texts {
		item := []byte(nil)
		if s != nil {
			item = []byte(*s)
		}
		if items[i], err = postgresValue(types, codec.ElementType.OID, item); err != nil {
			return list, true, err
		}
	}
	return boundary.List(items), true, nil
}
