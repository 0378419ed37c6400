package boundary

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// MaxKeyBytes bounds a key: a cache has a million of them.
const MaxKeyBytes = 1024

// Why there is no key.
var (
	// ErrNoKey says that a value which should make a key is missing or null.
	ErrNoKey = errors.New("there is no key: the value is missing or null")
	// ErrBadKey says that a value cannot be a key.
	ErrBadKey = errors.New("no key can be made of it")
)

// KeyOf makes a key: the canonical JSON of one value, or of the list of several.
// Values that are equal make the same key. Without values it is "".
func KeyOf(values ...Value) Key {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return Key(values[0].String())
	}
	return Key(List(values).String())
}

// AppendKey appends the key that the parts make, as [KeyOf] does, if they can: a part is a
// text, a whole number, a boolean or a time. Otherwise the error wraps ErrNoKey or ErrBadKey.
func AppendKey(dst []byte, parts []Value) ([]byte, error) {
	start := len(dst)
	for i, p := range parts {
		switch {
		case i > 0:
			dst = append(dst, ',')
		case len(parts) > 1:
			dst = append(dst, '[')
		}
		switch p.Kind() {
		case KindString:
			if p.length() > MaxKeyBytes {
				return dst[:start], keyError(parts, i, ErrBadKey, "a text of more than "+strconv.Itoa(MaxKeyBytes)+
					" bytes is too long")
			}
			dst = p.AppendJSON(dst)
		case KindInt, KindBool, KindTime:
			dst = p.AppendJSON(dst)
		case KindFloat:
			f, _ := p.AsFloat()
			if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
				return dst[:start], keyError(parts, i, ErrBadKey, "a number must be whole")
			}
			dst = strconv.AppendInt(dst, int64(f), 10)
		case KindAbsent, KindNull:
			return dst[:start], keyError(parts, i, ErrNoKey, "")
		default:
			return dst[:start],
				keyError(parts, i, ErrBadKey, "a key is a text, a whole number, a boolean or a time, and this is "+
					p.Kind().String())
		}
	}
	if len(parts) > 1 {
		dst = append(dst, ']')
	}
	if len(dst)-start > MaxKeyBytes {
		return dst[:start], keyError(parts, 0, ErrBadKey, "it is longer than "+strconv.Itoa(MaxKeyBytes)+" bytes")
	}
	return dst, nil
}

// badKey is a KeyError's cause with the text for people.
type badKey struct {
	cause error
	text  string
}

func (e *badKey) Error() string { return e.text }
func (e *badKey) Unwrap() error { return e.cause }

func keyError(parts []Value, i int, cause error, why string) error {
	text := cause.Error()
	if why != "" {
		text += ": " + why
	}
	if len(parts) > 1 {
		text = "part " + strconv.Itoa(i+1) + " of the key: " + text
	}
	return &badKey{cause, text}
}

// Shard is which of n shards the key belongs to (M48). It is the same for ever: stores and topics go by it.
func (k Key) Shard(n int) int { return int(xxhash.Sum64String(string(k)) % uint64(n)) }

// ShardOf is [Key.Shard] of a key that is still its bytes.
func ShardOf(key []byte, n int) int { return int(xxhash.Sum64(key) % uint64(n)) }

// Value is the value, or the list of values, that the key was made of; times and
// durations come back as strings. It is absent for "" and for what is no key. A plain
// text shares the key's memory.
func (k Key) Value() Value {
	if k == "" {
		return Value{}
	}
	if n := len(k) - 1; n > 0 && k[0] == '"' && strings.IndexByte(string(k), '\\') < 0 {
		return String(string(k[1:n]))
	}
	v, err := NewDecoder(nil, Limits{MaxBytes: len(k), MaxDepth: MaxDepth}).Decode([]byte(k))
	if err != nil {
		return Value{}
	}
	return v
}

// ValueOf is Value for a key some of whose parts are known to have been times: they are
// times again. times has an element for each part.
func (k Key) ValueOf(times []bool) Value {
	v := k.Value()
	if len(times) == 1 {
		return asTime(v, times[0])
	}
	parts := make([]Value, 0, len(times))
	for p := range v.Items() {
		i := len(parts)
		parts = append(parts, asTime(p, i < len(times) && times[i]))
	}
	return List(parts)
}

func asTime(v Value, is bool) Value {
	if s, ok := v.AsString(); ok && is {
		if t, err := ParseTime(s, nil); err == nil {
			return Time(t)
		}
	}
	return v
}
