package letters

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// Pile is the dead letters of all shards of a graph as one list (M48). Ids of all shards have one order, so that the
// id of a letter is a place in the list of each.
type Pile struct {
	Store  checkpoint.DeadLetters
	Shards []checkpoint.ID // by number
}

// page is a page of the list, whichever end it begins at. UpTo, where it is given, is a bound that [bound] has made.
func (p *Pile) page(ctx context.Context, q checkpoint.LetterQuery) (
	items []checkpoint.DeadLetter, next string, err error) {
	if len(p.Shards) == 1 {
		return p.Store.DeadLetters(ctx, p.Shards[0], q)
	}
	size, upTo, more := rules.PageSize(q.Query), q.UpTo, false
	for n, id := range p.Shards {
		if upTo != "" {
			q.UpTo = boundOf(upTo, n)
		}
		of, next, err := p.Store.DeadLetters(ctx, id, q)
		if err != nil {
			return nil, "", err
		}
		for i := range of {
			of[i].Shard = n
		}
		// No more than a page and a letter are held of all that were read.
		items, more = append(items, of...), more || next != ""
		slices.SortFunc(items, func(a, b checkpoint.DeadLetter) int {
			if q.Oldest {
				return cmp.Compare(a.ID, b.ID)
			}
			return cmp.Compare(b.ID, a.ID)
		})
		items = items[:min(len(items), size+1)]
	}
	cursor := func(l *checkpoint.DeadLetter) string { return rules.DeadLetterCursor(l.ID) }
	if items, next = rules.Page(items, size, cursor); next == "" && more {
		next = cursor(&items[len(items)-1])
	}
	return items, next, nil
}

// one is the letter of an id, which names the shard that made it. Of one that is not there any more the first shard
// has the letters.
func (p *Pile) one(ctx context.Context, letter string) (checkpoint.DeadLetter, error) {
	n := checkpoint.LetterShard(letter)
	if n >= len(p.Shards) {
		n = 0
	}
	l, err := p.Store.DeadLetter(ctx, p.Shards[n], letter)
	if n > 0 && errors.Is(err, checkpoint.ErrNotFound) {
		n = 0
		l, err = p.Store.DeadLetter(ctx, p.Shards[n], letter)
	}
	l.Shard = n
	return l, err
}

// discard removes letters, each from where it is kept, and says with an error too how many went.
func (p *Pile) discard(ctx context.Context, letters []checkpoint.DeadLetter) (all int64, err error) {
	ids := make([][]string, len(p.Shards))
	for i := range letters {
		n := letters[i].Shard
		ids[n] = append(ids[n], letters[i].ID)
	}
	for n, ids := range ids {
		if len(ids) == 0 {
			continue
		}
		gone, err := p.Store.DiscardDeadLetters(ctx, p.Shards[n], ids)
		if all += gone; err != nil {
			return all, err
		}
	}
	return all, nil
}

// Prune removes what is past the bounds, which each shard has for itself; see [checkpoint.DeadLetters]. It says with
// an error too how many went.
func (p *Pile) Prune(ctx context.Context, olderThan time.Time, most int, bytes int64) (all int64, err error) {
	for _, id := range p.Shards {
		gone, err := p.Store.PruneDeadLetters(ctx, id, olderThan, most, bytes)
		if all += gone; err != nil {
			return all, err
		}
	}
	return all, nil
}

// newest is the id of each shard's newest letter, "" where there is none.
func (p *Pile) newest(ctx context.Context) ([]string, error) {
	ids := make([]string, len(p.Shards))
	for n, id := range p.Shards {
		some, _, err := p.Store.DeadLetters(ctx, id, checkpoint.LetterQuery{Query: checkpoint.Query{Limit: 1}})
		if err != nil {
			return nil, err
		}
		if len(some) > 0 {
			ids[n] = some[0].ID
		}
	}
	return ids, nil
}

// since visits letters that have come after those that were the newest, oldest first in each shard: as many in all as
// one request may read.
func (p *Pile) since(ctx context.Context, newest []string, visit func(l *checkpoint.DeadLetter)) error {
	looked := 0
	for n, id := range p.Shards {
		q := checkpoint.LetterQuery{Oldest: true, After: newest[n], Query: checkpoint.Query{Limit: lettersAtOnce}}
		for more := "more"; more != "" && looked < lookedAt; {
			items, next, err := p.Store.DeadLetters(ctx, id, q)
			if err != nil {
				return err
			}
			for i := range items {
				visit(&items[i])
				q.After = items[i].ID
			}
			looked, more = looked+len(items), next
		}
	}
	return nil
}

// bound is the last letter of a list of which these are the newest of each shard; "" where there is none. What comes
// later is behind it in every shard, also what comes in the same millisecond: so the newest of each shard that has one
// of that millisecond are named, and the others end before it.
func bound(newest []string) string {
	if len(newest) == 1 {
		return newest[0]
	}
	last := instant(slices.Max(newest))
	if last == "" {
		return ""
	}
	var named []string
	for n, id := range newest {
		if instant(id) == last {
			named = append(named, strconv.Itoa(n)+":"+id)
		}
	}
	return strings.Join(named, ",")
}

// boundOf is what a bound is to shard n. One of a graph that was not dealt then is the same to all.
func boundOf(bound string, n int) string {
	last := ""
	for named := range strings.SplitSeq(bound, ",") {
		shard, id, dealt := strings.Cut(named, ":")
		if !dealt {
			return bound
		}
		if last = instant(id); shard == strconv.Itoa(n) {
			return id
		}
	}
	return last
}

// instant is the millisecond in a letter's id.
func instant(id string) string {
	at, _, _ := strings.Cut(id, "-")
	return at
}
