package poll

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
)

// valuesOf are the values of a statement's only row, with their kinds.
func valuesOf(t *testing.T, w world, list string) string {
	t.Helper()
	r := rowsOf(t, declared(w, func(c *Declared) { c.SQL, c.Key = "SELECT "+list, []string{"x"} }))
	read := r.open()
	defer read.close()
	var got string
	err := r.ask(t.Context(), read, bound{kind: nothing}, 2, func(w *row) error {
		got = w.values[0].Kind().String() + " " + w.values[0].String()
		if w.bad != nil {
			got = "bad: " + w.bad.Error()
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return got
}

// What a column holds is told as what it is, exactly; what cannot be held makes a dead letter.
func TestPostgresValues(t *testing.T) {
	w := postgresWorld(t)
	for text, want := range map[string]string{
		"NULL::int":                       "null null",
		"true":                            "bool true",
		"9223372036854775807":             "int 9223372036854775807",
		"3::smallint":                     "int 3",
		"0.1::real":                       "float 0.1",
		"1e300::float8":                   "float 1e+300",
		"'NaN'::float8":                   "bad: the column x: infinite numbers and NaN cannot be held",
		"'-Infinity'::float8":             "bad: the column x: infinite numbers and NaN cannot be held",
		"100.25::numeric(10,2)":           "float 100.25",
		"100::numeric(10,2)":              "float 100",
		"100::numeric":                    "int 100",
		"1e20::numeric":                   "float 100000000000000000000",
		"123456789012345678901::numeric":  `string "123456789012345678901"`,
		"0.12345678901234567890::numeric": `string "0.12345678901234567890"`,
		"'NaN'::numeric":                  "bad: the column x: infinite numbers and NaN cannot be held",
		"'2026-11-21 10:00:00.123456+02'::timestamptz":   `time "2026-11-21T08:00:00.123456000Z"`,
		"'2026-11-21 10:00:00'::timestamp":               `time "2026-11-21T10:00:00.000Z"`,
		"'infinity'::timestamptz":                        "bad: the column x: " + boundary.ErrTimeRange.Error(),
		"'0001-01-01 BC'::timestamp":                     "bad: the column x: " + boundary.ErrTimeRange.Error(),
		"'12026-01-01'::timestamp":                       "bad: the column x: " + boundary.ErrTimeRange.Error(),
		"'2026-11-21'::date":                             `string "2026-11-21"`,
		"'1 day 2 hours'::interval":                      `string "P1DT2H"`,
		`'{"b": [1, 2.50], "a": null}'::jsonb`:           `object {"a":null,"b":[1,2.5]}`,
		`'[1]'::json`:                                    `list [1]`,
		`'\x00ff'::bytea`:                                `string "AP8="`,
		"'ä\"'::text":                                    `string "ä\""`,
		"'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid":   `string "6ba7b810-9dad-11d1-80b4-00c04fd430c8"`,
		"ARRAY[1, NULL, 3]":                              "list [1,null,3]",
		`ARRAY['a,b', 'NULL', '"']`:                      `list ["a,b","NULL","\""]`,
		"'{}'::int[]":                                    "list []",
		"ARRAY[[1,2],[3,4]]":                             `string "{{1,2},{3,4}}"`,
		"'[2:3]={1,2}'::int[]":                           `string "[2:3]={1,2}"`,
		"ARRAY['NaN'::float8]":                           "bad: the column x: infinite numbers and NaN cannot be held",
		"ARRAY['2026-11-21 10:00:00+00'::timestamptz]":   `list ["2026-11-21T10:00:00.000Z"]`,
		"'(1,2)'::point":                                 `string "(1,2)"`,
		"'a => 1'::text || set_config('a.b', 'c', true)": `string "a => 1c"`,
	} {
		if got := valuesOf(t, w, text+" AS x"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestSQLiteValues(t *testing.T) {
	w := sqliteWorld(t)
	w.exec("CREATE TABLE v (at DATETIME, day DATE, yes BOOLEAN)")
	w.exec("INSERT INTO v VALUES ('2026-11-21 10:00:00', '2026-11-21', 1)")
	for text, want := range map[string]string{
		"NULL AS x": "null null", "1 AS x": "int 1", "1.5 AS x": "float 1.5", "'a' AS x": `string "a"`,
		"x'00ff' AS x": `string "AP8="`, "9e999 AS x": "bad: the column x: infinite numbers and NaN cannot be held",
		"CAST(x'ff' AS TEXT) AS x": "bad: the column x: the text is not UTF-8",
		"at AS x FROM v":           `time "2026-11-21T10:00:00.000Z"`,
		"yes AS x FROM v":          "int 1",
	} {
		if got := valuesOf(t, w, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A row that cannot be held is a dead letter, once, and the rows around it are events.
func TestRowsThatCannotBeHeld(t *testing.T) {
	w := postgresWorld(t)
	w.exec("CREATE TABLE t (id int, f float8, s text)")
	w.exec("INSERT INTO t VALUES (1, 1, 'a'), (2, 'NaN', 'b'), (3, 3, repeat('x', 9000)), (4, 4, 'd')")
	for _, mode := range []func(*Declared){
		func(c *Declared) { c.SQL = "SELECT * FROM t ORDER BY id" },
		func(c *Declared) { c.After, c.Lookback = "id", "10" },
	} {
		c := declared(w, mode)
		l := born(t, c, nil)
		l.run.maxBytes = 8000
		got := l.poll()
		for i := range got {
			got[i] = fmt.Sprintf("%.60s", got[i])
		}
		want(t, got, `{"f":1,"id":1,"s":"a"}`, `bad_value {"f":"NaN","id":2,"s":"b"}`,
			`too_large {"f":3,"id":3,"s":"`+strings.Repeat("x", 31), `{"f":4,"id":4,"s":"d"}`)
		if n := len(l.out.Items()[2].Raw); n != shownBytes {
			t.Errorf("the dead letter of a large row holds %d bytes", n)
		}
		l = born(t, c, l.positions())
		want(t, l.poll())
	}
}

// A time is text where the accumulator's schema says so, for JSON has none: the schema admits
// it, and expressions see what they were checked for.
func TestSchemaSaysText(t *testing.T) {
	w := sqliteWorld(t)
	w.exec("CREATE TABLE v (a DATETIME, b DATETIME)")
	w.exec("INSERT INTO v VALUES ('2026-11-21 10:00:00', '2026-11-21 10:00:00')")
	schema := map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string"}}}
	c := declared(w, func(c *Declared) { c.SQL, c.Key = "SELECT a, b FROM v", []string{"a"} })
	g, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRows(c, &kind.Input{Schema: schema}, g, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = r.ask(t.Context(), r.open(), bound{kind: nothing}, 2, func(w *row) error {
		if a, b := w.values[0].Kind(), w.values[1].Kind(); a != boundary.KindString || b != boundary.KindTime {
			t.Errorf("got %v and %v", a, b)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
