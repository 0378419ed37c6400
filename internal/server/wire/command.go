package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
)

// maxSteps bounds one step command: a paused graph stays steerable.
const maxSteps = 1_000_000

// DecodeObject decodes the JSON object of a command into dst, strictly: also unknown
// members and duplicate keys at any depth are refused. dst keeps nothing of raw.
func DecodeObject(raw []byte, maxDepth int, dst any) error {
	// The decoder of events is the strict one. It keeps what it is given, thus the copy.
	v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: len(raw) + 1, MaxDepth: maxDepth}).Decode(
		bytes.Clone(raw))
	if bad, ok := errors.AsType[*boundary.DecodeError](err); ok {
		e := Refuse(http.StatusBadRequest, bad.Code, fmt.Sprintf("%s (at byte %d)", bad.Text, bad.Offset))
		e.Extra = map[string]any{"offset": bad.Offset}
		return e
	}
	if v.Kind() != boundary.KindObject {
		return Refuse(http.StatusBadRequest, api.CodeInvalidBody, "a command's arguments are a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		return Refuse(http.StatusBadRequest, api.CodeInvalidBody, misread(err, dst))
	}
	if text := lenient(v, dst); text != "" {
		return Refuse(http.StatusBadRequest, api.CodeInvalidBody, text)
	}
	return nil
}

// lenient is what encoding/json has let pass of an object for dst, and is wrong all the same: a name in other letters
// than the member's, and null for what has none, which leaves the member as if it had not been given.
func lenient(v boundary.Value, dst any) string {
	there := fields(dst)
	if there == nil {
		return ""
	}
	for name, value := range v.Fields() {
		i := slices.IndexFunc(there, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			return fmt.Sprintf("unknown field %q; there are %s", Clip(name), strings.Join(members(dst), ", "))
		case !value.IsNull():
			continue
		}
		switch there[i].typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Interface:
		default:
			return fmt.Sprintf("%s: want %s, got null", name, wanted(there[i].typ))
		}
	}
	return ""
}

// misread says in the words of JSON why a body is not what dst is made of.
func misread(err error, dst any) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, number, _ := strings.Cut(e.Value, " ")
		field := cmp.Or(member(e.Field), "the body")
		if want := wanted(e.Type); want != inWords(got) {
			return fmt.Sprintf("%s: want %s, got %s", field, want, inWords(got))
		}
		return fmt.Sprintf("%s: want a whole number of 64 bits, got %s", field, Clip(number))
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if strings.HasPrefix(text, "unknown field") {
		if names := members(dst); len(names) > 0 {
			text += "; there are " + strings.Join(names, ", ")
		}
	}
	return text
}

// member is a path of encoding/json without the embedded structs in it: those have no names in JSON, and ours there
// are in small letters.
func member(path string) string {
	names := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return strings.ToLower(name) != name }), ".")
}

// wanted is a Go type in the words of JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.String:
		return inWords("string")
	case reflect.Bool:
		return inWords("bool")
	case reflect.Slice, reflect.Array:
		return inWords("array")
	case reflect.Map, reflect.Struct:
		return inWords("object")
	}
	return inWords("number")
}

// inWords is a kind of JSON for people.
func inWords(kind string) string {
	switch kind {
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "number":
		return "a number"
	case "bool":
		return "true or false"
	}
	return kind
}

// field is one member of what an object is decoded into.
type field struct {
	name string
	typ  reflect.Type
}

// fields are the members that an object for dst can have; nil where that is not a struct.
func fields(dst any) (out []field) {
	t := reflect.TypeOf(dst)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	out = []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name != "" && name != "-":
			out = append(out, field{name, f.Type})
		case f.Anonymous && name == "":
			out = append(out, fields(reflect.New(f.Type).Interface())...)
		}
	}
	return out
}

// members are the names of them.
func members(dst any) (names []string) {
	for _, f := range fields(dst) {
		names = append(names, f.name)
	}
	return names
}

// CheckFire refuses what no graph could do; names and values are the engine's to check.
func CheckFire(req *api.FireRequest) error {
	switch req.Mode {
	case "force":
		if req.Cache != nil || req.Replace != nil {
			return Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
				`cache and replace belong to the mode "with"`)
		}
	case "with":
		if req.OnlyChanged {
			return Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
				`only_changed belongs to the mode "force"; "with" puts out what has changed`)
		}
		if len(req.Cache) == 0 {
			return Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
				`the mode "with" needs cache: an object with a value for each accumulator to set`)
		}
	default:
		return Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			fmt.Sprintf(`mode is %q, and must be "force" or "with"`, Clip(req.Mode)))
	}
	return nil
}

// Steps is how many steps are asked for.
func Steps(q *api.StepRequest) (int, error) {
	if q.N == nil {
		return 1, nil
	}
	if *q.N < 1 || *q.N > maxSteps {
		return 0, Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody,
			fmt.Sprintf("n is %d, and must be from 1 to %d", *q.N, maxSteps))
	}
	return *q.N, nil
}

// Key is a key as the engine takes it: compact JSON, "" for none. What is not JSON is a
// string, so that ?key=AAPL means "AAPL".
func Key(text string) string {
	if Validate([]byte(text), 2).Is() { // a composite key is a list: two levels
		if text == "" {
			return ""
		}
		return string(AppendString(nil, text))
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil || compact.String() == "null" {
		return ""
	}
	return compact.String()
}
