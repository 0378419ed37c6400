package rawjson

import (
	"math"
	"strconv"
)

// Number is a JSON number: the bits of an int64, or of a finite float64.
type Number struct {
	Bits  uint64
	Float bool
}

func integer(i int64) Number { return Number{Bits: uint64(i)} }

func float(f float64) Number { return Number{Bits: math.Float64bits(f), Float: true} }

// ReadNumber reads the number at i, where a digit or a minus stands: an integer when it
// has neither point nor exponent and fits, otherwise a float. It returns the index after
// it, or 0 when there is no number. It is not ok then, nor when no float is that large, nor
// when it is an integer that neither an int64 nor a float keeps: one that a float would be
// written back as another. (9223372036854775807 is an int, 18446744073709552000 is a float
// as JavaScript writes it, 18446744073709551615 is neither.)
func ReadNumber(s string, i int) (n Number, end int, ok bool) {
	if n, end, ok = Short(s, i); ok {
		return n, end, true
	}
	long := scanNumeral(s, i)
	if long.end == 0 {
		return Number{}, 0, false
	}
	n, ok = long.value(s, i)
	return n, long.end, ok
}

// Short is ReadNumber for a number that is written canonically, and is short enough for
// its digits to be exact: nearly all numbers there are. For others it is not ok.
func Short(s string, i int) (n Number, end int, ok bool) {
	first := i
	if s[i] == '-' {
		first++
	}
	mant, point := uint64(0), first
	if last := first + 7; last < len(s) && s[last]-'0' <= 9 {
		mant, point = eight(s, first)
	}
	mant, point = digits(s, point, mant)
	whole := point - first
	next := byte(0)
	if point < len(s) {
		next = s[point]
	}
	if whole == 0 || whole >= exactDigits || s[first] == '0' && whole > 1 || next|0x20 == 'e' {
		return Number{}, 0, false
	}
	if next != '.' {
		if first > i {
			return integer(-int64(mant)), point, mant != 0 // -0 is written 0
		}
		return integer(int64(mant)), point, true
	}
	mant, end = digits(s, point+1, mant)
	places := end - point - 1
	// Up to 15 digits survive the way through a float unchanged.
	if places == 0 || whole+places > 15 || s[end-1] == '0' || end < len(s) && s[end]|0x20 == 'e' {
		return Number{}, 0, false
	}
	f := float64(mant) / powers[places]
	if first > i {
		f = -f
	}
	return float(f), end, f >= 1e-6 || f <= -1e-6 // less is written with an exponent
}

// numeral is the text of one JSON number, taken apart.
type numeral struct {
	mant    uint64 // the digits without sign and point; right up to 19 of them
	exp     int    // the value is mant × 10^exp
	digits  int    // how many digits mant was made of
	end     int    // the index after the number; 0 when the text is no number
	neg     bool
	integer bool // neither point nor exponent
}

// hugeExp is where a written exponent stops counting: far outside of what a float
// holds, and far from overflowing.
const hugeExp = 1 << 20

// scanNumeral reads any number at i, where a digit or a minus stands.
func scanNumeral(s string, i int) numeral {
	n := numeral{integer: true}
	if s[i] == '-' {
		n.neg = true
		i++
	}
	first := i
	n.mant, i = digits(s, i, 0)
	n.digits = i - first
	if n.digits == 0 || n.digits > 1 && s[first] == '0' {
		return numeral{}
	}
	if i < len(s) && s[i] == '.' {
		n.integer = false
		i++
		point := i
		n.mant, i = digits(s, i, n.mant)
		n.exp = point - i
		n.digits += i - point
		if i == point {
			return numeral{}
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		return n.exponent(s, i+1)
	}
	n.end = i
	return n
}

// digits appends the digits at i to mant and returns the index after them.
func digits(s string, i int, mant uint64) (uint64, int) {
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		mant = mant*10 + uint64(s[i]-'0')
	}
	return mant, i
}

// eight is digits of no more than the next eight, and of none where they are not all digits: two, four and eight of
// them are put together at a time.
func eight(s string, i int) (mant uint64, end int) {
	s = s[i : i+8]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const high, zeros = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	if w&high != zeros || (w+0x0606060606060606)&high != zeros {
		return 0, i
	}
	w = (w & 0x0f0f0f0f0f0f0f0f) * (1<<8*10 + 1) >> 8
	w = (w & 0x00ff00ff00ff00ff) * (1<<16*100 + 1) >> 16
	return (w & 0x0000ffff0000ffff) * (1<<32*10000 + 1) >> 32, i + 8
}

// exponent reads what stands after the e, at i.
func (n numeral) exponent(s string, i int) numeral {
	n.integer = false
	minus := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		minus = s[i] == '-'
		i++
	}
	e, first := 0, i
	for i < len(s) && s[i]-'0' <= 9 {
		e = min(e*10+int(s[i]-'0'), hugeExp)
		i++
	}
	if i == first {
		return numeral{}
	}
	if minus {
		e = -e
	}
	n.exp += e
	n.end = i
	return n
}

// exactDigits is up to how many digits mant cannot have overflowed.
const exactDigits = 19

// powers are the powers of ten that a float holds exactly.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// value converts the number whose text is s[start:n.end]; false when it is too large, or an
// integer that would become another.
func (n numeral) value(s string, start int) (Number, bool) {
	if n.integer && n.digits <= exactDigits {
		switch {
		case n.neg && n.mant <= 1<<63:
			return integer(-int64(n.mant)), true
		case !n.neg && n.mant < 1<<63:
			return integer(int64(n.mant)), true
		}
	}
	if n.integer {
		return largeInteger(s[start:n.end])
	}
	if n.digits <= exactDigits && n.mant <= 1<<53 && n.exp >= -22 && n.exp <= 22 {
		// Both numbers are exact floats, so that the one rounding gives the nearest float.
		f := float64(n.mant)
		if n.exp < 0 {
			f /= powers[-n.exp]
		} else {
			f *= powers[n.exp]
		}
		if n.neg {
			f = -f
		}
		return float(f), true
	}
	f, err := strconv.ParseFloat(s[start:n.end], 64)
	if err != nil || math.IsInf(f, 0) {
		return Number{}, false
	}
	return float(f), true
}

// largeInteger is an integer beyond int64 as a float, if that is written the same.
func largeInteger(text string) (Number, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return Number{}, false
	}
	var room [320]byte // more digits than any float has
	if string(strconv.AppendFloat(room[:0], f, 'f', -1, 64)) != text {
		return Number{}, false
	}
	return float(f), true
}
