package rawjson

import (
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// AppendFloat writes f as encoding/json does, but for two cases in which equal
// numbers would be written differently, or read back as another: an integral float
// that fits int64 has all its digits, as the int has, and -0 is 0.
func AppendFloat(dst []byte, f float64) []byte {
	if f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	abs := math.Abs(f)
	if abs < 1e9 && abs >= 1e-6 {
		// A decimal of up to 15 digits that reads back as f is the shortest there is.
		if n := uint64(abs*1e6 + 0.5); float64(n)/1e6 == abs {
			return appendMillionths(dst, n, f < 0)
		}
	}
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendMillionths writes n / 1,000,000, which is not integral.
func appendMillionths(dst []byte, n uint64, negative bool) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, n/1_000_000, 10)
	dst = append(dst, '.')
	var digits [6]byte
	n %= 1_000_000
	for i := range digits {
		digits[5-i] = '0' + byte(n%10)
		n /= 10
	}
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	return append(dst, digits[:end]...)
}

// AppendString writes s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			m := special(Load64(s, i))
			i += bits.TrailingZeros64(m) / 8
			if m == 0 {
				continue
			}
		}
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			if c >= ' ' && c != '"' && c != '\\' {
				continue
			}
			dst = appendEscape(append(dst, s[done:i-1]...), c)
			done = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(append(dst, s[done:i]...), "\uFFFD"...)
			done = i + 1
		}
		i += n
	}
	return append(append(dst, s[done:]...), '"')
}

// appendEscape writes a character that a string cannot simply hold.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '\b':
		c = 'b'
	case '\f':
		c = 'f'
	case '\n':
		c = 'n'
	case '\r':
		c = 'r'
	case '\t':
		c = 't'
	case '"', '\\':
	default:
		return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(dst, '\\', c)
}
