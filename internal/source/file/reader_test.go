package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// nextOf is the reader's next event.
func nextOf(r *Reader) (ev boundary.Event, err error) {
	err = r.Next(&ev)
	return ev, err
}

// readAll reads everything that a Reader makes of src.
func readAll(t *testing.T, src io.Reader, cfg ReaderConfig) []record {
	t.Helper()
	return readBlocks(t, src, cfg, blockSize)
}

// readBlocks is readAll with a buffer of another size.
func readBlocks(t *testing.T, src io.Reader, cfg ReaderConfig, block int) []record {
	t.Helper()
	r, err := NewReader(src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.f.block, r.f.buf = block, make([]byte, block)
	var out []record
	for {
		ev, err := nextOf(r)
		if errors.Is(err, io.EOF) {
			return out
		}
		rec := record{raw: string(ev.Raw), end: ev.Pos.Offset}
		if bad := new(accumulator.BadEvent); errors.As(err, &bad) {
			rec.bad = bad.Code
		} else if err != nil {
			t.Fatalf("Next: %v", err)
		}
		out = append(out, rec)
	}
}

func TestNDJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []record
	}{
		"lines":            {"{}\n[1]\n", []record{{"{}", "", 3}, {"[1]", "", 7}}},
		"no last newline":  {"1\n2", []record{{"1", "", 2}, {"2", "", 3}}},
		"crlf":             {"1\r\n2\r\n", []record{{"1", "", 3}, {"2", "", 6}}},
		"byte order mark":  {"\xef\xbb\xbf1\n", []record{{"1", "", 5}}},
		"half a mark":      {"\xef\xbb", []record{{"\xef\xbb", "", 2}}},
		"blank lines":      {"\n \n\t\r\n1\n\n", []record{{"1", "", 8}}},
		"empty":            {"", nil},
		"not JSON is kept": {"nonsense\n", []record{{"nonsense", "", 9}}}, // the decoder's to judge
		"too large":        {"0123456789\n1\n", []record{{"0123456789", "too_large", 11}, {"1", "", 13}}},
		"too large, crlf":  {"012345678\r\n1\n", []record{{"012345678", "too_large", 11}, {"1", "", 13}}},
		"just fits":        {"01234567\r\n1", []record{{"01234567", "", 10}, {"1", "", 11}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)),
				iotest.DataErrReader(strings.NewReader(c.in))} {
				got := readAll(t, src, ReaderConfig{Format: "ndjson", MaxEventBytes: 8})
				if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(record{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"properties": map[string]any{
		"zip": map[string]any{"type": "string"},
		"n":   map[string]any{"type": []any{"null", "number"}},
		"ok":  map[string]any{"type": "boolean"},
	}}
	for name, c := range map[string]struct {
		in   string
		want []record
	}{
		"types by cell": {
			"a,b,c,d,e,f\n1,-2.5e3,true,x y,,NaN\n",
			[]record{{`{"a":1,"b":-2.5e3,"c":true,"d":"x y","e":null,"f":"NaN"}`, "", 35}},
		},
		"what is no number stays text": {
			"a,b,c,d\n007,+1,1e999,0x10\n",
			[]record{{`{"a":"007","b":"+1","c":"1e999","d":"0x10"}`, "", 26}},
		},
		"types by schema": {
			"zip,n,ok\n007, +7 ,TRUE\n1,.5,yEs\n",
			[]record{{`{"zip":"007","n":7,"ok":true}`, "", 23}, {`{"zip":"1","n":0.5,"ok":"yEs"}`, "", 32}},
		},
		"quotes": {
			"a,b\n\"x,\"\"y\"\"\n\",\"\"\n", []record{{`{"a":"x,\"y\"\n","b":""}`, "", 18}},
		},
		"crlf and a quoted newline": {
			"a,b\r\n\"1\r\n2\",3\r\n", []record{{`{"a":"1\r\n2","b":3}`, "", 15}},
		},
		"a quote within a cell is itself": {"a\nx\"y\n", []record{{`{"a":"x\"y"}`, "", 6}}},
		"ragged": {
			"a,b\n1\n1,2,3\n1,2\n", []record{
				{"1", "csv_fields", 6}, {"1,2,3", "csv_fields", 12}, {`{"a":1,"b":2}`, "", 16},
			},
		},
		"broken quotes": {
			"a\n\"x\"y\n1\n\"z\n",
			[]record{{`"x"y`, "csv_quote", 7}, {`{"a":1}`, "", 9}, {"\"z\n", "csv_quote", 12}},
		},
		"same and missing names": {"a,,a\n1,2,3\n", []record{{`{"a":1,"column_2":2,"a_3":3}`, "", 11}}},
		"mark and quoted header": {"\xef\xbb\xbf\"a\"\n1\n", []record{{`{"a":1}`, "", 9}}},
		"empty lines":            {"\n\na\n\n1\n\n", []record{{`{"a":1}`, "", 7}}},
		"header only":            {"a,b\n", nil},
		"too large": {
			"a\n" + strings.Repeat("x", 100) + "\n1\n",
			[]record{{strings.Repeat("x", 100), "too_large", 103}, {`{"a":1}`, "", 105}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got := readAll(t, src, ReaderConfig{Format: "csv", MaxEventBytes: 64, Schema: schema})
				if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(record{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A record over the limit is skipped without being held.
func TestLargeRecordIsNotHeld(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	src := io.MultiReader(io.LimitReader(endless('x'), 64<<20), strings.NewReader("\n{}\n"))
	r, err := NewReader(src, ReaderConfig{Format: "ndjson", MaxEventBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nextOf(r)
	if bad := new(accumulator.BadEvent); !errors.As(err, &bad) || bad.Code != "too_large" || bad.Stage != "size" {
		t.Fatalf("got %v, want too_large", err)
	}
	if len(ev.Raw) != prefixSize || ev.Pos.Offset != 64<<20+1 {
		t.Errorf("got %d bytes up to %d, want %d up to %d", len(ev.Raw), ev.Pos.Offset, prefixSize, 64<<20+1)
	}
	if n := len(r.f.buf); n > 4*limit {
		t.Errorf("the buffer grew to %d bytes", n)
	}
	if ev, err = nextOf(r); err != nil || string(ev.Raw) != "{}" {
		t.Errorf("after it: %q, %v", ev.Raw, err)
	}
	if _, err = nextOf(r); !errors.Is(err, io.EOF) || len(r.f.buf) != blockSize {
		t.Errorf("at the end: %v with a buffer of %d bytes", err, len(r.f.buf))
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	if _, err := NewReader(strings.NewReader(""), ReaderConfig{Format: "xml"}); err == nil {
		t.Error("an unknown format is no error")
	}
	broken := errors.New("broken")
	r, err := NewReader(io.MultiReader(strings.NewReader("1\n2"), iotest.ErrReader(broken)),
		ReaderConfig{Format: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := nextOf(r); err != nil || string(ev.Raw) != "1" {
		t.Fatalf("got %q, %v", ev.Raw, err)
	}
	if _, err := nextOf(r); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	r, _ = NewReader(strings.NewReader("\"a\"b\n1\n"), ReaderConfig{Format: "csv"})
	if _, err := nextOf(r); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a broken header: %v", err)
	}
}

// chunked hands src over in pieces whose sizes follow from how.
func chunked(src string, how uint8) io.Reader {
	switch how % 4 {
	case 0:
		return strings.NewReader(src)
	case 1:
		return iotest.OneByteReader(strings.NewReader(src))
	case 2:
		return iotest.HalfReader(strings.NewReader(src))
	}
	return iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(src)))
}

func FuzzFileReader(f *testing.F) {
	for _, s := range []string{"{}\n1\n", "\xef\xbb\xbf1\r\n\r\n", "0123456789abcdef\n1", " \n\n\t", "\xef\xbb", "\r",
		"a\r\r\n"} {
		for how := range uint8(4) {
			f.Add(s, how, uint8(8))
		}
	}
	f.Fuzz(func(t *testing.T, text string, how, limit uint8) {
		most := int(limit) + 1
		want := naiveLines(text, most)
		got := readBlocks(t, chunked(text, how), ReaderConfig{Format: "ndjson", MaxEventBytes: most}, 3+int(how/4))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\"\"\n\"\n", "\xef\xbb\xbf\"a\"\r\n1\r\n", "a,\"\n\",a\n1,2,3",
		"a\n\"x\"y\n\"", "a\n\"\r\"\r\n"} {
		for how := range uint8(4) {
			f.Add(s, how, uint8(200))
		}
	}
	f.Fuzz(func(t *testing.T, text string, how, limit uint8) {
		most := int(limit) + 1
		cfg := ReaderConfig{Format: "csv", MaxEventBytes: most}
		rows := naiveRows(text)
		for len(rows) > 0 && rows[0].text == "" {
			rows = rows[1:]
		}
		if len(rows) > 0 && (rows[0].broken || len(rows[0].text) > most) {
			r, err := NewReader(chunked(text, how), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nextOf(r); err == nil || errors.Is(err, io.EOF) {
				t.Fatalf("a broken header is no error: %v", err)
			}
			return
		}
		var want []record
		if len(rows) > 0 {
			want = naiveRecords(rows[0], rows[1:], most)
		}
		got := readBlocks(t, chunked(text, how), cfg, 3+int(how/4))
		if len(got) != len(want) {
			t.Fatalf("got %d records, want %d\n%+v\n%+v", len(got), len(want), got, want)
		}
		for i := range want {
			if got[i].bad == "" && got[i].bad == want[i].bad {
				sameCells(t, got[i].raw, want[i].raw)
				got[i].raw = want[i].raw
			}
			if got[i] != want[i] {
				t.Errorf("record %d: got %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

// naiveRecords types the cells of rows the obvious way. The raw of a good record is its
// cells as JSON texts, after their names.
func naiveRecords(header naiveRow, rows []naiveRow, limit int) (out []record) {
	for _, row := range rows {
		rec := record{end: row.end, raw: row.text[:min(len(row.text), prefixSize)]}
		switch {
		case row.text == "":
			continue
		case len(row.text) > limit:
			rec.bad = "too_large"
		case row.broken:
			rec.bad = "csv_quote"
		case len(row.cells) != len(header.cells):
			rec.bad = "csv_fields"
		default:
			var cells []string
			for i, cell := range row.cells {
				cells = append(cells, naiveCell(cell, row.quoted[i]))
			}
			rec.raw = strings.Join(cells, "\x00")
		}
		out = append(out, rec)
	}
	return out
}

func naiveCell(cell string, quoted bool) string {
	switch strings.ToLower(cell) {
	case "":
		if !quoted {
			return "null"
		}
	case "true", "false":
		if cell == strings.ToLower(cell) || cell == strings.ToUpper(cell) ||
			cell == strings.ToUpper(cell[:1])+strings.ToLower(cell[1:]) {
			return strings.ToLower(cell)
		}
	}
	if json.Valid([]byte(cell)) && !strings.ContainsAny(cell, " \t\r\n") && strings.Contains("-0123456789", cell[:1]) {
		if f, err := strconv.ParseFloat(cell, 64); err == nil && !math.IsInf(f, 0) {
			return cell
		}
	}
	return "text " + cell
}

// sameCells compares a made object, cell by cell in its own order, with the naive cells.
func sameCells(t *testing.T, object, cells string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(object))
	dec.UseNumber()
	var got []string
	for i := 0; ; i++ {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		if i == 0 || i%2 == 1 || tok == json.Delim('}') {
			continue // the brace and the names
		}
		switch tok := tok.(type) {
		case nil:
			got = append(got, "null")
		case string:
			got = append(got, "text "+tok)
		default:
			got = append(got, fmt.Sprint(tok))
		}
	}
	want := strings.ToValidUTF8(cells, "\uFFFD")
	if have := strings.Join(got, "\x00"); squash(have) != squash(want) {
		t.Errorf("got %s, which is %q, want %q", object, have, want)
	}
}

// squash makes runs of replacement characters one: how many stand for one fault is not told.
func squash(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
