package told

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// maxAsking bounds how many shards are asked for their records at one time.
const maxAsking = 16

// Histories are those of the shards of a graph, by number, as one list (M48): newest first, and each shard's epochs in
// their order.
type Histories []*History

// Page lists epochs of all keys, newest first. A cursor holds a place for each shard, so that the pages of one list
// are those of its beginning, whatever fires meanwhile.
func (hs Histories) Page(ctx context.Context, q api.Query) (api.Page[api.Firing], error) {
	if len(hs) == 1 {
		return hs[0].Page(ctx, q, "")
	}
	page, size := api.Page[api.Firing]{Items: []api.Firing{}}, pageSize(q)
	rows, err := hs.rows(q.Before, size)
	if err != nil {
		return page, err
	}
	if err := begin(ctx, rows); err != nil {
		return page, err
	}
	for len(page.Items) < size {
		next := newest(rows)
		if next == nil {
			return page, nil
		}
		page.Items = append(page.Items, next.take())
		if err := next.fill(ctx); err != nil {
			return page, err
		}
	}
	if newest(rows) != nil {
		page.Next = cursor(rows)
	}
	return page, nil
}

// row is one shard's part of a page: what was read of it, and is not on a page yet.
type row struct {
	h     *History
	at    checkpoint.FiringPlace // what is not on a page begins below it
	begun bool                   // at is known: the first page begins above all
	ahead []api.Firing
	most  int // how many are read at once
	end   bool
}

func (hs Histories) rows(before string, size int) ([]*row, error) {
	at, err := places(before, len(hs))
	if err != nil {
		return nil, err
	}
	rows := make([]*row, len(hs))
	for n, h := range hs {
		rows[n] = &row{h: h, most: min(size, max(8, 2*size/len(hs)))}
		if at != nil {
			rows[n].at, rows[n].begun = at[n], true
		}
	}
	return rows, nil
}

// begin reads ahead of all shards.
func begin(ctx context.Context, rows []*row) error {
	var wait sync.WaitGroup
	errs, turns := make([]error, len(rows)), make(chan struct{}, maxAsking)
	for n, r := range rows {
		turns <- struct{}{}
		wait.Go(func() {
			errs[n] = r.fill(ctx)
			<-turns
		})
	}
	wait.Wait()
	for n, err := range errs {
		if err != nil {
			return err
		}
		if r := rows[n]; !r.begun { // what fires from now on is above the list
			r.begun = true
			if len(r.ahead) > 0 {
				r.at = checkpoint.FiringPlace{Incarnation: r.ahead[0].Incarnation, Epoch: r.ahead[0].Epoch + 1}
			}
		}
	}
	return nil
}

// fill reads on where nothing is left of what was read.
func (r *row) fill(ctx context.Context) error {
	if len(r.ahead) > 0 || r.end {
		return nil
	}
	before := ""
	if r.begun {
		before = r.h.cursor(r.at.Incarnation, r.at.Epoch)
	}
	var err error
	r.ahead, err = r.h.list(ctx, before, "", r.most)
	r.end = len(r.ahead) < r.most
	return err
}

func (r *row) take() api.Firing {
	f := r.ahead[0]
	r.ahead, r.at = r.ahead[1:], checkpoint.FiringPlace{Incarnation: f.Incarnation, Epoch: f.Epoch}
	return f
}

// newest is the shard whose next record is the newest; of the same time that with the least number. It is nil at
// the end.
func newest(rows []*row) (first *row) {
	for _, r := range rows {
		if len(r.ahead) > 0 && (first == nil || r.ahead[0].At.After(first.ahead[0].At)) {
			first = r
		}
	}
	return first
}

// shardsMark begins a cursor over several shards.
const shardsMark = "s"

// cursor is where all shards go on.
func cursor(rows []*row) string {
	var text []byte
	for _, r := range rows {
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(r.at.Incarnation)), uint64(r.at.Epoch))
	}
	return shardsMark + base64.RawURLEncoding.EncodeToString(text)
}

// places are where a cursor over n shards goes on; nil for the first page.
func places(cursor string, n int) ([]checkpoint.FiringPlace, error) {
	if cursor == "" {
		return nil, nil
	}
	text, ok := strings.CutPrefix(cursor, shardsMark)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil {
		return nil, BadCursor()
	}
	number := func() int64 {
		v, size := binary.Uvarint(raw)
		if size <= 0 || v > math.MaxInt64 {
			ok = false
			return 0
		}
		raw = raw[size:]
		return int64(v)
	}
	at := make([]checkpoint.FiringPlace, n)
	for i := range at {
		at[i] = checkpoint.FiringPlace{Shard: i, Incarnation: number(), Epoch: number()}
	}
	if !ok || len(raw) > 0 {
		return nil, BadCursor()
	}
	return at, nil
}
