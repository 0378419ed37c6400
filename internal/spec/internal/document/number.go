package document

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Why a scalar is not the number asked for.
var (
	ErrNotNumber   = errors.New("it is not a number")
	ErrTooBig      = errors.New("the number is too big")
	ErrNotFinite   = errors.New("the number is not finite")
	ErrLeadingZero = errors.New("a number may not start with 0, since YAML readers differ on what it means")
)

var (
	digits      = regexp.MustCompile(`^[-+]?[0-9]+$`)
	leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]`)
	// overlong is a number too big for YAML, which then takes it for a text.
	overlong = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$`)
)

// PlainTag is the type that YAML gives a text that stands without quotes.
func PlainTag(text string) string {
	return (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag()
}

// Int reads a whole number in any of YAML's notations. tag is the type YAML gave it.
func Int(text, tag string) (int64, error) {
	switch {
	case tag == "!!float" && digits.MatchString(text):
		return 0, ErrTooBig
	case tag != "!!int":
		return 0, ErrNotNumber
	case leadingZero.MatchString(text):
		return 0, ErrLeadingZero
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+"), 0, 64)
	if err != nil {
		return 0, ErrTooBig
	}
	return n, nil
}

// Number reads a number: an int64 when it is whole and fits, else a float64. plain
// says that it stands without quotes.
func Number(text, tag string, plain bool) (any, error) {
	n, err := Int(text, tag)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, ErrLeadingZero):
		return nil, err
	case errors.Is(err, ErrNotNumber) && tag != "!!float" && !(plain && overlong.MatchString(text)):
		return nil, err
	}
	plainText := strings.ReplaceAll(text, "_", "")
	x, err := strconv.ParseFloat(plainText, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return nil, ErrNotFinite
	}
	if digits.MatchString(plainText) && strconv.FormatFloat(x, 'f', -1, 64) != strings.TrimPrefix(plainText, "+") {
		return nil, ErrTooBig // a float would have other digits, as in an event
	}
	return x, nil
}
