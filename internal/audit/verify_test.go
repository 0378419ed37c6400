package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/audit"
)

func chain(t *testing.T, n int) []audit.Row {
	t.Helper()
	var rows []audit.Row
	var last audit.Place
	for i := range n {
		e := audit.Entry{Kind: audit.Intent, At: time.Unix(int64(i+1), 0), Tenant: "acme", Operation: "pause",
			Actor: audit.Actor{Subject: "ci"}, Graph: "g"}
		body, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		r := audit.Row{Seq: last.Seq + 1, Prev: last.Sum, Body: []byte(body)}
		r.Sum = audit.Link(r.Prev, r.Seq, body)
		rows, last = append(rows, r), audit.Place{Seq: r.Seq, Sum: r.Sum}
	}
	return rows
}

func verify(rows []audit.Row, head audit.Place) error {
	v := audit.Verify("acme", audit.Place{})
	for i := range rows {
		if err := v.Next(&rows[i]); err != nil {
			return err
		}
	}
	return v.Reaches(head)
}

// TestVerify: whatever is done to a chain is found, though what is put in is right by itself (A13).
func TestVerify(t *testing.T) {
	t.Parallel()
	relink := func(rows []audit.Row, from int) {
		for i := from; i < len(rows); i++ {
			if i > 0 {
				rows[i].Prev = rows[i-1].Sum
			}
			rows[i].Sum = audit.Link(rows[i].Prev, rows[i].Seq, string(rows[i].Body))
		}
	}
	change := func(r *audit.Row) { r.Body = bytes.Replace(r.Body, []byte("pause"), []byte("fire"), 1) }
	for name, tt := range map[string]struct {
		do   func([]audit.Row) []audit.Row
		want string
	}{
		"nothing": {func(r []audit.Row) []audit.Row { return r }, ""},
		"changed": {func(r []audit.Row) []audit.Row { change(&r[2]); return r }, "entry 3 is not what was written"},
		"changed, with its sum": {func(r []audit.Row) []audit.Row {
			change(&r[2])
			r[2].Sum = audit.Link(r[2].Prev, r[2].Seq, string(r[2].Body))
			return r
		}, "entry 4 does not follow the entry before it"},
		"changed, with all sums": {func(r []audit.Row) []audit.Row { change(&r[2]); relink(r, 2); return r },
			"ends with entry 6, sum"},
		"removed":    {func(r []audit.Row) []audit.Row { return slices.Delete(r, 2, 3) }, "entry 4 follows entry 2"},
		"first gone": {func(r []audit.Row) []audit.Row { return r[1:] }, "entry 2 follows entry 0"},
		"last gone":  {func(r []audit.Row) []audit.Row { return r[:5] }, "ends with entry 5"},
		"inserted": {func(r []audit.Row) []audit.Row { return slices.Insert(r, 3, r[2]) },
			"entry 3 follows entry 3"},
		"renumbered": {func(r []audit.Row) []audit.Row { r = slices.Delete(r, 2, 3); r[2].Seq = 3; return r },
			"entry 3 does not follow"},
		"reordered": {func(r []audit.Row) []audit.Row { r[2], r[3] = r[3], r[2]; return r },
			"entry 4 follows entry 2"},
		"another file": {func(r []audit.Row) []audit.Row {
			r[1].At, r[1].Subject, r[1].Graph = 2e9, "ci", "h"
			return r
		}, "entry 2 is filed under another"},
		"another tenant's": {func(r []audit.Row) []audit.Row {
			r[5].Body = bytes.Replace(r[5].Body, []byte("acme"), []byte("evil"), 1)
			relink(r, 5)
			return r
		}, "entry 6 is of another tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := chain(t, 6)
			head := audit.Place{Seq: 6, Sum: rows[5].Sum}
			err := verify(tt.do(rows), head)
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, audit.ErrBroken) ||
				!strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestExport: a row goes through JSON as it is, and what is told of it is bounded.
func TestExport(t *testing.T) {
	t.Parallel()
	e := audit.Entry{Kind: audit.Denied, At: time.Unix(1, 2), Tenant: "acme", Operation: "a<b>&c",
		Actor: audit.Actor{Subject: strings.Repeat("é", 1000)}, Detail: make([]string, 5000)}
	body, err := e.Body()
	if err != nil || len(body) > 4000 {
		t.Fatalf("a body of %d bytes, %v", len(body), err)
	}
	r := audit.Row{Seq: 1, Sum: audit.Link(audit.Sum{}, 1, body), Body: []byte(body)}
	for _, escape := range []bool{true, false} {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(escape)
		var back audit.Row
		if err := errors.Join(enc.Encode(&r), json.Unmarshal(line.Bytes(), &back)); err != nil {
			t.Fatal(err)
		}
		v := audit.VerifyOpen("acme")
		if err := errors.Join(v.Next(&back), v.Reaches(audit.Place{Seq: 1, Sum: r.Sum})); err != nil {
			t.Error(err)
		}
	}
}
