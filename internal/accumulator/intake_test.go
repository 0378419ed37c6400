package accumulator

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

func TestEmit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a    spec.Accumulator
		raw  string
		want string
	}{
		"mapping": {
			spec.Accumulator{
				Emit: []spec.Field{field("mid", "(event.bid + event.ask) / 2"), field("s", "event.symbol"),
					field("v", "vars.least")},
			},
			`{"symbol":"A","bid":1,"ask":2}`, `{"mid":1.5,"s":"A","v":10}`,
		},
		"one expression":  {spec.Accumulator{EmitExpr: expr("event.list[1]")}, `{"list":[1,{"a":2}]}`, `{"a":2}`},
		"a missing field": {spec.Accumulator{Emit: []spec.Field{field("x", "event.x")}}, `{}`, `{"x":null}`},
		"no meta":         {spec.Accumulator{Emit: []spec.Field{field("x", "meta.topic")}}, `{}`, `{"x":null}`},
		"the event as it is": {spec.Accumulator{Emit: []spec.Field{field("e", "event")}}, `{"b":1,"a":2}`,
			`{"e":{"a":2,"b":1}}`},
		"more than one slab": {spec.Accumulator{Emit: manyFields(20)}, `{}`, ""},
		"a batch of emitted": {spec.Accumulator{
			Kind: "batch", Config: batch.Declared{Size: 1}, EmitExpr: expr("event.a"),
		}, `{"a":1}`, `[1]`},
		"a history of values": {spec.Accumulator{
			Kind: "state", Config: state.Declared{Keep: 2}, EmitExpr: expr("event.a"),
		}, `{"a":1}`, `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := newCore(t, c.a)
			if o := core.Add(at(0), pushed(c.raw), false); o.Status != Accepted {
				t.Fatalf("got %+v", o)
			}
			got := take(t, core).Boundaries[0].Value
			if c.want != "" && got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.want == "" && got.Len() != len(c.a.Emit) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// What is emitted of one event is not touched by the next.
func TestEmittedValuesAreTheirOwn(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Emit: []spec.Field{field("a", "event.x"), field("b", "event.x + 1")}})
	const n = 200 // several chunks
	for i := range n {
		c.Add(at(0), pushed(fmt.Sprintf(`{"x":%d}`, i)), false)
	}
	for i, got := range values(take(t, c)) {
		if want := fmt.Sprintf(`{"a":%d,"b":%d}`, i, i+1); got != want {
			t.Fatalf("boundary %d: got %s, want %s", i, got, want)
		}
	}
}

func manyFields(n int) (fs []spec.Field) {
	for i := range n {
		fs = append(fs, field(fmt.Sprintf("f%d", i), fmt.Sprint(i)))
	}
	return fs
}

func TestMeta(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Where: expr(`meta.topic == "a"`), EmitExpr: expr(
		`[meta.key, meta.headers.h, meta.partition, meta.offset, meta.timestamp == nil, event.x]`)})
	ev := pushed(`{"x":1}`)
	ev.Meta = &boundary.Meta{
		Key: "k", Headers: map[string]string{"h": "v"}, Topic: "a", Partition: 3, Offset: 4, Timestamp: at(0),
	}
	c.Add(at(0), ev, true)
	c.Add(at(0), pushed(`{}`), true)
	c.Add(at(0), &boundary.Event{Raw: []byte(`{}`), Meta: &boundary.Meta{Key: "k"}}, true)
	h := take(t, c)
	if got, want := fmt.Sprint(values(h)), `[["k","v",3,4,false,1]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if h.Mark.Counters.Filtered != 2 {
		t.Errorf("got %+v", h.Mark.Counters)
	}
}

// An event that came with its value is not decoded, and its dead letter is that value.
func TestValueEvents(t *testing.T) {
	t.Parallel()
	v, err := boundary.FromAny(map[string]any{"bid": 5, "at": at(0)})
	if err != nil {
		t.Fatal(err)
	}
	c := newCore(t, spec.Accumulator{
		Schema: mustJSON(t, `{"properties":{"at":{"type":"string","format":"date-time"},"bid":{"type":"integer"}}}`),
		Where:  expr("event.bid / 0 > 1"),
	})
	if o := c.Add(at(0), &boundary.Event{Value: v}, true); o.Status != DeadLettered || o.Stage != "where" {
		t.Fatalf("got %+v", o)
	}
	if got, want := string(take(t, c).DeadLetters[0].Payload),
		`{"at":"2026-11-20T10:00:00.000Z","bid":5}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	big, _ := boundary.FromAny(strings.Repeat("x", 2000))
	if o := c.Add(at(0), &boundary.Event{Value: big}, true); o.Code != "too_large" {
		t.Errorf("got %+v, want too_large", o)
	}
}

func TestEventTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		a    spec.Accumulator
		raw  string
		code string
	}{
		"text with zone":      {spec.Accumulator{}, `{"t":"2026-01-02T05:04:05+02:00"}`, ""},
		"text without zone":   {spec.Accumulator{}, `{"t":"2026-01-02T03:04:05"}`, ""},
		"text in a zone":      {spec.Accumulator{Timezone: "America/New_York"}, `{"t":"2026-01-01T22:04:05"}`, ""},
		"milliseconds":        {spec.Accumulator{}, `{"t":1767323045000}`, ""},
		"seconds":             {spec.Accumulator{TimeUnit: "s"}, `{"t":1767323045}`, ""},
		"seconds as a float":  {spec.Accumulator{TimeUnit: "s"}, `{"t":1767323045.0}`, ""},
		"nanoseconds":         {spec.Accumulator{TimeUnit: "ns"}, `{"t":1767323045000000000}`, ""},
		"microseconds":        {spec.Accumulator{TimeUnit: "us"}, `{"t":1767323045000000}`, ""},
		"missing":             {spec.Accumulator{}, `{}`, "time_invalid"},
		"no time":             {spec.Accumulator{}, `{"t":"tomorrow"}`, "time_invalid"},
		"a list":              {spec.Accumulator{}, `{"t":[]}`, "time_invalid"},
		"out of range":        {spec.Accumulator{}, `{"t":9223372036854775807}`, "time_invalid"},
		"out of range, float": {spec.Accumulator{}, `{"t":1e300}`, "time_invalid"},
		"undecodable":         {spec.Accumulator{}, `{`, "invalid_json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.a.Time = expr("event.t")
			core := newCore(t, c.a)
			ev := pulled(1, c.raw)
			got, ok, err := core.EventTime(ev)
			if c.code != "" {
				if bad := new(BadEvent); !errors.As(err, &bad) || bad.Code != c.code || ok {
					t.Errorf("got %v, %v, %v; want %s", got, ok, err, c.code)
				}
				return
			}
			if err != nil || !ok || !got.Equal(want) {
				t.Errorf("got %v, %v, %v; want %v", got, ok, err, want)
			}
			if ev.Value.IsAbsent() {
				t.Error("the event will be decoded again")
			}
			if o := core.Add(got, ev, true); o.Status != Accepted {
				t.Errorf("Add after EventTime: %+v", o)
			}
			if h := take(t, core); h.Boundaries[0].Value.String() != compact(c.raw) {
				t.Errorf("got %s", values(h))
			}
		})
	}
	if _, ok, err := newCore(t, spec.Accumulator{}).EventTime(pulled(1, "{}")); ok || err != nil {
		t.Errorf("without a time: %v, %v", ok, err)
	}
}

// compact is canonical JSON of a text that has no float to shorten but .0.
func compact(s string) string { return strings.ReplaceAll(s, ".0}", "}") }

// M21: a time is kept to the nanosecond, as its decimal digits say, or refused with a code;
// never cut at milliseconds and never clamped.
func TestEventTimesAreExact(t *testing.T) {
	t.Parallel()
	units := map[string]int64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}
	for _, c := range []struct{ unit, text string }{
		{"ms", "1700000000123.5"}, {"ms", "1700000000123"}, {"ms", "0.25"}, {"ms", "-0.5"}, {"ms", "0"},
		{"ms", "-1700000000123.5"},
		{"s", "1700000000.1"}, {"s", "1700000000.123457"}, {"s", "0.000000001"}, {"s", "1e9"},
		{"s", "1.5e-9"}, {"s", "-0.1"},
		{"us", "1700000000123456.5"}, {"us", "0.001"}, {"ns", "1700000000123456789"}, {"ns", "0.9"}, {"ns", "1.7e18"},
		{"s", "8520336000"}, {"s", "8520335999.5"}, {"s", "9223372036.9"}, {"s", "9223372037"}, {"s", "-8520335999.5"},
		{"ms", "8520335999999.5"}, {"ms", "9223372036855.5"}, {"ms", "1e300"}, {"ns", "9.3e18"}, {"ns", "-9.3e18"},
		{"s", `"1600-01-01T00:00:00Z"`}, {"s", `"2300-01-01T00:00:00Z"`}, {"s", `"2300-01-01t00:00:00z"`},
	} {
		want, ok := new(big.Rat).SetString(strings.Trim(c.text, `"`))
		core := newCore(t, spec.Accumulator{Time: expr("event.t"), TimeUnit: c.unit})
		got, _, err := core.EventTime(pulled(1, `{"t":`+c.text+`}`))
		if ok {
			want.Mul(want, big.NewRat(units[c.unit], 1))
			ns := new(big.Int).Quo(want.Num(), want.Denom()) // digits beyond the nanosecond are left out
			if ok = ns.IsInt64(); ok && (err != nil || got.UnixNano() != ns.Int64()) {
				t.Errorf("%s %s: got %v, %v; want %v", c.text, c.unit, got.UnixNano(), err, ns)
			}
		}
		if bad := new(BadEvent); !ok && (!errors.As(err, &bad) || bad.Code != "time_invalid") {
			t.Errorf("%s %s: got %v, %v; want time_invalid", c.text, c.unit, got, err)
		}
	}
}
