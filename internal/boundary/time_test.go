package boundary

import (
	"errors"
	"testing"
	"time"
)

// RFC 3339 in large and small letters, to the nanosecond, and nothing clamped.
func TestParseTime(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3600)
	for text, want := range map[string]string{
		"2026-01-02T03:04:05Z":            "2026-01-02T03:04:05Z",
		"2026-01-02t03:04:05z":            "2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05z":            "2026-01-02T03:04:05Z",
		"2026-01-02t03:04:05+01:00":       "2026-01-02T02:04:05Z",
		"2026-01-02T03:04:05.123456789Z":  "2026-01-02T03:04:05.123456789Z",
		"2026-01-02T03:04:05.1234567899Z": "2026-01-02T03:04:05.123456789Z",
		"2026-01-02T03:04:05":             "2026-01-02T02:04:05Z", // in Berlin
		"2026-01-02t03:04:05.5":           "2026-01-02T02:04:05.5Z",
		"1970-01-01T00:00:00Z":            "1970-01-01T00:00:00Z",
		"2024-02-29T23:59:59-00:00":       "2024-02-29T23:59:59Z",
		"1677-09-21T00:12:43.145224192Z":  "1677-09-21T00:12:43.145224192Z",
		"2262-04-11T23:47:16.854775807Z":  "2262-04-11T23:47:16.854775807Z",
		"1677-09-21T00:12:43.145224191Z":  "range",
		"2262-04-11T23:47:16.854775808Z":  "range",
		"0001-01-01T00:00:00Z":            "range",
		"9999-12-31T23:59:59Z":            "range",
		"9999-12-31t23:59:59z":            "range",
		"2016-12-31T23:59:60Z":            "none", // a leap second
		"2026-01-02T24:00:00Z":            "none",
		"2025-02-29T00:00:00Z":            "none",
		"2026-01-02":                      "none",
		"z":                               "none",
		"":                                "none",
		"2026-01-02T":                     "none",
		"2026-01-02tz":                    "none",
	} {
		got, err := ParseTime(text, berlin)
		switch {
		case want == "range" && !errors.Is(err, ErrTimeRange),
			want == "none" && (err == nil || errors.Is(err, ErrTimeRange)):
			t.Errorf("%s: got %v, %v; want it refused: %s", text, got, err, want)
		case want == "range" || want == "none":
		case err != nil || got.Format(time.RFC3339Nano) != want:
			t.Errorf("%s: got %v, %v; want %s", text, got.Format(time.RFC3339Nano), err, want)
		}
	}
	if _, err := ParseTime("2026-01-02T03:04:05", nil); err == nil {
		t.Error("a text without a zone is read, although there is none to read it in")
	}
}

// A number is a time with its unit, exactly, to the ends of what can be held.
func TestTimeOfNumber(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		number Value
		unit   string
		want   string
	}{
		{Int(0), "s", "1970-01-01T00:00:00Z"},
		{Int(-1), "ms", "1969-12-31T23:59:59.999Z"},
		{Int(1_700_000_000_123_456_789), "ns", "2023-11-14T22:13:20.123456789Z"},
		{Int(1_700_000_000_123_456), "us", "2023-11-14T22:13:20.123456Z"},
		{Float(1_700_000_000.1), "s", "2023-11-14T22:13:20.1Z"},
		{Float(-0.5), "ms", "1969-12-31T23:59:59.9995Z"},
		{Int(9_223_372_036), "s", "2262-04-11T23:47:16Z"},
		{Int(9_223_372_037), "s", ""},
		{Int(-9_223_372_037), "s", ""},
		{Float(9.3e18), "ns", ""},
		{Float(1e300), "s", ""},
	} {
		unit, ok := TimeUnit(tc.unit)
		if !ok {
			t.Fatalf("%s is no unit", tc.unit)
		}
		at, ok := TimeOfNumber(tc.number, unit)
		if got := at.Format(time.RFC3339Nano); ok != (tc.want != "") || ok && got != tc.want {
			t.Errorf("%s %s: got %s, %v, want %s", tc.number, tc.unit, got, ok, tc.want)
		}
	}
	if _, ok := TimeUnit("minutes"); ok {
		t.Error("minutes are a unit")
	}
}
