// Package keylist lists the keys of a graph, of which there may be a million: a page of them at a time, gathered
// without holding up the epochs for long, and without holding more than the page. Start at [Here].
package keylist

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/keytable"
)

const (
	usual, most = 50, 1000 // rows of a page
	atOnce      = 4096     // keys that are looked at in one go, some hundred microseconds between two epochs
)

// Found are the keys of some shards, as members tell each other: the first of those behind the cursor.
type Found struct {
	Rows    []Row `json:"rows"`
	Keys    int   `json:"keys"`
	Fitting int   `json:"fitting"`
	Unknown []int `json:"unknown,omitempty"`
}

// Row is a key. What it is written as stays as it is on the way between members.
type Row struct {
	Key     boundary.Key `json:"k"`
	Shard   int          `json:"s,omitempty"`
	Arrived time.Time    `json:"a"`
	Waiting int          `json:"w,omitempty"`
}

// place is a key's in an order.
type place struct {
	Sort string       `json:"s"`
	N    int64        `json:"n,omitempty"` // smaller ones first
	Key  boundary.Key `json:"k"`
}

func (p *place) compare(o *place) int {
	return cmp.Or(cmp.Compare(p.N, o.N), cmp.Compare(p.Key, o.Key))
}

// place is that of a key in an order.
func (r *Row) place(sort string) place {
	p := place{Sort: sort, Key: r.Key}
	switch sort {
	case "recent":
		p.N = -r.Arrived.UnixNano()
	case "waiting":
		p.N = -int64(r.Waiting)
	}
	return p
}

// sorted has rows be in an order.
func sorted(rows []Row, sort string) {
	slices.SortFunc(rows, func(a, b Row) int {
		x, y := a.place(sort), b.place(sort)
		return x.compare(&y)
	})
}

func refuse(detail string) error {
	return &api.Error{Status: http.StatusBadRequest, Code: api.CodeInvalidParameter, Detail: detail}
}

// asked is a query that was read.
type asked struct {
	search string
	sort   string
	limit  int
	after  *place
}

func read(q *api.KeyQuery) (*asked, error) {
	a := &asked{strings.ToLower(q.Search), cmp.Or(q.Sort, "recent"), cmp.Or(q.Limit, usual), nil}
	a.limit = min(max(a.limit, 1), most)
	if !slices.Contains([]string{"recent", "key", "waiting"}, a.sort) {
		return nil, refuse("sort is recent, key or waiting")
	}
	if q.Before == "" {
		return a, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.Before)
	if err == nil {
		err = json.Unmarshal(text, &a.after)
	}
	if err != nil || a.after == nil || a.after.Sort != a.sort {
		return nil, refuse("before is the next of a page of the same sort, as it was answered")
	}
	return a, nil
}

// top are the first of the keys that it is shown.
type top struct {
	*asked
	rows   []Row
	worst  *place // none behind it is among them
	shard  int
	keys   int
	fitted int
}

func (t *top) see(key boundary.Key, arrived time.Time, waiting int) {
	t.keys++
	if t.search != "" && !strings.Contains(strings.ToLower(string(key)), t.search) {
		return
	}
	t.fitted++
	r := Row{key, t.shard, arrived, waiting}
	at := r.place(t.sort)
	if t.after != nil && at.compare(t.after) <= 0 || t.worst != nil && at.compare(t.worst) > 0 {
		return
	}
	t.rows = append(t.rows, r)
	if len(t.rows) >= 4*(t.limit+1) {
		t.trim()
	}
}

// trim leaves one more than a page has, which says that another follows.
func (t *top) trim() {
	sorted(t.rows, t.sort)
	if len(t.rows) > t.limit {
		t.rows = t.rows[:t.limit+1]
		worst := t.rows[t.limit].place(t.sort)
		t.worst = &worst
	}
}

// Here finds keys of the shards that are asked, which run here.
func Here(ctx context.Context, m *graphrun.Graph, q *api.KeyQuery) (*Found, error) {
	a, err := read(q)
	if err != nil {
		return nil, err
	}
	shards, _, err := m.Lives(ctx, "")
	if err != nil {
		return nil, err
	}
	if m.Unit().Spec.KeyParts() == 0 {
		return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: "not_keyed",
			Detail: "this graph has no keys, so there is nothing to list: see its state"}
	}
	t, found := &top{asked: a}, &Found{}
	for _, s := range shards {
		if t.shard = s.Number(); !look(ctx, s, t) {
			found.Unknown = append(found.Unknown, t.shard)
		}
	}
	t.trim()
	found.Rows, found.Keys, found.Fitting = t.rows, t.keys, t.fitted
	return found, nil
}

// look shows the keys of a shard, some of them between two epochs at a time.
func look(ctx context.Context, s *lives.Shard, t *top) bool {
	for part := 0; part < keytable.Parts; {
		if !s.Look(ctx, func(c *reactor.Core, _ time.Time) {
			n, _ := c.KeyCount()
			end := min(keytable.Parts, part+max(1, keytable.Parts*atOnce/max(n, 1)))
			for ; part < end; part++ {
				c.KeysOf(part, t.see)
			}
		}) {
			return false
		}
	}
	return true
}

// Page puts together what was found.
func Page(q *api.KeyQuery, all []*Found) (p api.KeyPage, err error) {
	a, err := read(q)
	if err != nil {
		return p, err
	}
	var rows []Row
	for _, f := range all {
		rows, p.Unknown = append(rows, f.Rows...), append(p.Unknown, f.Unknown...)
		p.Keys, p.Fitting = p.Keys+f.Keys, p.Fitting+f.Fitting
	}
	sorted(rows, a.sort)
	slices.Sort(p.Unknown)
	if len(rows) > a.limit {
		rows = rows[:a.limit]
		text, err := json.Marshal(rows[a.limit-1].place(a.sort))
		if err != nil {
			return p, err
		}
		p.Next = base64.RawURLEncoding.EncodeToString(text)
	}
	p.Items = make([]api.KeyRow, len(rows))
	for i, r := range rows {
		p.Items[i] = api.KeyRow{Key: json.RawMessage(r.Key), Shard: r.Shard, LastArrivalAt: r.Arrived,
			Waiting: r.Waiting}
	}
	return p, nil
}
