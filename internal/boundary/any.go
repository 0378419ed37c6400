package boundary

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// ErrNotFinite is what FromAny answers to NaN and the infinities.
var ErrNotFinite = errors.New("not a finite number")

// FromAny turns a Go value into a Value: nil, a boolean, an integer or float of any
// size, a string, a time.Time, a time.Duration, a json.Number, a Value, and []any,
// []Value and map[string]any of these. An integer that neither an int64 nor a float keeps
// as it is, NaN, an infinity, a time that does not fit (see [Time]), a malformed json.Number
// and every other type are errors that name the place.
func FromAny(x any) (Value, error) { return fromAny(x, 0) }

func fromAny(x any, depth int) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Null(), nil
	case Value:
		if depth+x.Depth() > MaxDepth {
			return Value{}, errTooDeep
		}
		return x, nil
	case bool:
		return Bool(x), nil
	case string:
		return String(x), nil
	case int:
		return Int(int64(x)), nil
	case int64:
		return Int(x), nil
	case float64:
		return fromFloat(x)
	case time.Time:
		if !Holds(x) {
			return Value{}, ErrTimeRange
		}
		return Time(x), nil
	case time.Duration:
		return Duration(x), nil
	case json.Number:
		v, ok := ParseNumber(x.String())
		if !ok {
			return Value{}, fmt.Errorf("%q is not a JSON number that a float or 64 bits can hold", x.String())
		}
		return v, nil
	case []any, []Value, map[string]any:
		return fromContainer(x, depth)
	}
	return fromSmall(x)
}

// fromSmall converts the less usual numbers.
func fromSmall(x any) (Value, error) {
	switch x := x.(type) {
	case int8:
		return Int(int64(x)), nil
	case int16:
		return Int(int64(x)), nil
	case int32:
		return Int(int64(x)), nil
	case uint8:
		return Int(int64(x)), nil
	case uint16:
		return Int(int64(x)), nil
	case uint32:
		return Int(int64(x)), nil
	case uint:
		return fromUint(uint64(x))
	case uint64:
		return fromUint(x)
	case float32:
		return fromFloat(float64(x))
	}
	return Value{}, fmt.Errorf("a value cannot hold a Go %T", x)
}

func fromUint(u uint64) (Value, error) {
	if u <= math.MaxInt64 {
		return Int(int64(u)), nil
	}
	if v, ok := ParseNumber(strconv.FormatUint(u, 10)); ok {
		return v, nil
	}
	return Value{}, fmt.Errorf("%d does not fit an int64, and a float would change it; make it a string", u)
}

func fromFloat(f float64) (Value, error) {
	if f-f != 0 {
		return Value{}, ErrNotFinite
	}
	return float(f), nil
}

var errTooDeep = errors.New("lists and objects are nested more than 10,000 deep")

func fromContainer(x any, depth int) (Value, error) {
	if depth >= MaxDepth {
		return Value{}, errTooDeep
	}
	switch x := x.(type) {
	case []any:
		items := make([]Value, len(x))
		for i := range x {
			var err error
			if items[i], err = fromAny(x[i], depth+1); err != nil {
				return Value{}, at(depth, fmt.Sprintf("[%d]", i), err)
			}
		}
		return List(items), nil
	case map[string]any:
		names := slices.Sorted(maps.Keys(x))
		slots := make([]Value, len(names))
		for i, name := range names {
			var err error
			if slots[i], err = fromAny(x[name], depth+1); err != nil {
				return Value{}, at(depth, strconv.Quote(name), err)
			}
		}
		return Object(NewShape(names...), slots), nil
	}
	items := slices.Clone(x.([]Value))
	for _, item := range items {
		if depth+1+item.Depth() > MaxDepth {
			return Value{}, errTooDeep
		}
	}
	return List(items), nil
}

// at adds to an error where it happened: the outermost levels, for that of a cycle
// would grow with the square of the depth.
func at(depth int, place string, err error) error {
	if depth >= defaultMaxDepth {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Any turns v into plain Go: nil (for null and absent), bool, int, float64, string,
// time.Time, time.Duration, []any or map[string]any. It copies everything but strings.
func (v Value) Any() any {
	switch v.Kind() {
	case KindBool:
		return v.num != 0
	case KindInt:
		return int(v.num)
	case KindFloat:
		return math.Float64frombits(v.num)
	case KindString:
		s, _ := v.AsString()
		return s
	case KindTime:
		t, _ := v.AsTime()
		return t
	case KindDuration:
		return time.Duration(v.num)
	case KindList:
		list := make([]any, 0, v.hint())
		for item := range v.Items() {
			list = append(list, item.Any())
		}
		return list
	case KindObject:
		m := make(map[string]any, v.hint())
		for name, field := range v.Fields() {
			m[name] = field.Any()
		}
		return m
	}
	return nil
}

// hint is about Len where that is known without a walk, and 0 elsewhere.
func (v Value) hint() int {
	switch r := v.ref.(type) {
	case built:
		return v.length()
	case *object:
		return r.shape.Len()
	}
	return 0
}
