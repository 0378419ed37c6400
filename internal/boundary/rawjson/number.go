package rawjson

import (
	"math"
	"math/bits"
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
	if n, end, _ = few(s, i); end > 0 {
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
	if n, end, ok = few(s, i); !ok {
		return Number{}, 0, false
	}
	return n, end, true
}

// few is ReadNumber of a number that is short enough for its digits to be exact, and says whether it is written
// canonically. The end is 0 for every other.
func few(s string, i int) (n Number, end int, canonical bool) {
	first := i
	if s[i] == '-' {
		first++
	}
	mant, point := uint64(0), first
	if len(s)-first >= 8 {
		w := Load64(s, first)
		others := noDigits(w)
		if others == 0 {
			mant, point = merge(w), first+8
		} else if all, places, size := decimal(w, others); places > 0 {
			f := float64(merge(all)) / powers[places]
			if first > i {
				f = -f
			}
			end = first + size
			return float(f), end, isShortest(s, end, f)
		}
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
	if places == 0 || whole+places > 15 || end < len(s) && s[end]|0x20 == 'e' {
		return Number{}, 0, false
	}
	f := float64(mant) / powers[places]
	if first > i {
		f = -f
	}
	return float(f), end, isShortest(s, end, f)
}

// isShortest says that the float f, written with a point up to end, could not be written shorter, nor would be written
// with an exponent.
func isShortest(s string, end int, f float64) bool {
	return s[end-1] != '0' && (f >= 1e-6 || f <= -1e-6)
}

// decimal are the digits of a positive number with a point that ends within the eight bytes w, as most prices do, how
// many of them are behind the point, and the size of all: places is 0 for every other.
func decimal(w, others uint64) (all uint64, places, size int) {
	point := bits.TrailingZeros64(others) &^ 7 // where it is, in bits
	end := bits.TrailingZeros64(others&^(0xff<<(point&63))) &^ 7
	if point == 0 || end < point+16 || end == 64 || byte(w>>(point&63)) != '.' || byte(w>>(end&63))|0x20 == 'e' ||
		byte(w) == '0' && point > 8 {
		return 0, 0, 0
	}
	whole := w & (1<<(point&63) - 1)
	fraction := w >> ((point + 8) & 63) & (1<<((end-point-8)&63) - 1)
	return (whole | fraction<<(point&63)) << ((72 - end) & 63), (end-point)/8 - 1, end / 8
}

// noDigits marks the bytes that are no digits, the first of them lowest. Behind the first that is neither a digit nor
// a point it may be wrong.
func noDigits(w uint64) uint64 {
	const high, zeros = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	return (w&high ^ zeros) | ((w+0x0606060606060606)&high ^ zeros)
}

// merge is the number of eight digits, the first of them lowest; what is no digit but 0 stands for one.
func merge(w uint64) uint64 {
	w = (w & 0x0f0f0f0f0f0f0f0f) * (1<<8*10 + 1) >> 8
	w = (w & 0x00ff00ff00ff00ff) * (1<<16*100 + 1) >> 16
	return (w & 0x0000ffff0000ffff) * (1<<32*10000 + 1) >> 32
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
