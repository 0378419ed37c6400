package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/segmentio/kafka-go"
)

// shardOf is the shard of a key that is a text, as docs/scale.md has it.
func shardOf(key string, shards int) int {
	text, err := json.Marshal(key)
	if err != nil {
		return -1
	}
	return int(xxhash.Sum64(text) % uint64(shards))
}

// fired are when rows of each shard were written, and by which daemon, in their order.
type fired map[int][]writing

type writing struct {
	at time.Time
	by string // as the daemon's connections are called
}

func (w writing) compare(at time.Time) int { return w.at.Compare(at) }

// countRows counts the table that is written by the commits of a keyed graph: each event of each key once, and those
// of a key in their order. next are the numbers that each key is due.
func (f *fleet) countRows(table string, shards int, next map[string]int64) fired {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), "select k, n, at, by from "+table+" order by pos")
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	at, due, seen := fired{}, map[string]int64{}, map[string]map[int64]bool{}
	doubled, disordered := 0, 0
	var examples []string
	for rows.Next() {
		var k string
		var n int64
		var w writing
		if err := rows.Scan(&k, &n, &w.at, &w.by); err != nil {
			f.t.Fatal(err)
		}
		if n < due[k] && seen[k] == nil {
			seen[k] = map[int64]bool{}
		}
		if n != due[k] && len(examples) < 20 {
			examples = append(examples, fmt.Sprintf("%s (shard %d): %d where %d was due, at %v", k,
				shardOf(k, shards), n, due[k], w.at.Format(time.StampMilli)))
		}
		switch {
		case n == due[k]:
			due[k]++
		case n < due[k]:
			doubled++
		default:
			disordered++ // what was left out, or comes later
			due[k] = n + 1
		}
		at[shardOf(k, shards)] = append(at[shardOf(k, shards)], w)
	}
	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}
	lost := int64(0)
	for k, n := range next {
		lost += max(0, n-due[k])
	}
	if doubled > 0 || disordered > 0 || lost > 0 {
		f.t.Errorf("%s: %d rows came again or late, before %d some of their key are missing, %d are missing at the "+
			"end\n%s", table, doubled, disordered, lost, strings.Join(examples, "\n"))
	}
	return at
}

// delivered is what a topic holds of an output, each firing id counted once.
type delivered struct {
	mu    sync.Mutex
	ids   map[string]string           // the value of each firing id
	n     map[string]map[int64]string // by key and number: its id
	last  map[string][2]int64         // by key: number and epoch of the newest
	epoch map[int]map[int64]string    // by shard and epoch: its id
	again int
	wrong []string
}

func (d *delivered) fail(format string, args ...any) {
	if len(d.wrong) < 20 {
		d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
	}
}

// take counts one record. Those of a key come in their order, but for what comes again.
func (d *delivered) take(m *kafka.Message, shards int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	head := map[string]string{}
	for _, h := range m.Headers {
		head[h.Key] = string(h.Value)
	}
	var v struct {
		K string
		N int64
	}
	epoch, err := strconv.ParseInt(head["Graphd-Epoch"], 10, 64)
	id := head["Graphd-Firing-Id"]
	if err := errors.Join(err, json.Unmarshal(m.Value, &v)); err != nil || id == "" ||
		head["Graphd-Firing-Stable"] != "true" {
		d.fail("%s %v: %v", m.Value, head, err)
		return
	}
	if old, ok := d.ids[id]; ok {
		if d.again++; old != string(m.Value) {
			d.fail("the id %s is of %s and of %s", id, old, m.Value)
		}
		return
	}
	d.ids[id] = string(m.Value)
	if d.n[v.K] == nil {
		d.n[v.K] = map[int64]string{}
	}
	if other, ok := d.n[v.K][v.N]; ok {
		d.fail("%s is there under %s and %s", m.Value, other, id)
	}
	d.n[v.K][v.N] = id
	if last, ok := d.last[v.K]; ok && (v.N != last[0]+1 || epoch <= last[1]) {
		d.fail("%s of epoch %d comes behind %d of epoch %d", m.Value, epoch, last[0], last[1])
	}
	d.last[v.K] = [2]int64{v.N, epoch}
	shard := shardOf(v.K, shards)
	if d.epoch[shard] == nil {
		d.epoch[shard] = map[int64]string{}
	}
	if other, ok := d.epoch[shard][epoch]; ok {
		d.fail("epoch %d of shard %d is that of %s and of %s", epoch, shard, d.ids[other], m.Value)
	}
	d.epoch[shard][epoch] = id
}

// countTopic reads all of a topic: what the outbox has delivered, and by how much less than next that is.
func countTopic(t *testing.T, brokers []string, topic string, parts, shards int, next map[string]int64) *delivered {
	t.Helper()
	d := &delivered{ids: map[string]string{}, n: map[string]map[int64]string{}, last: map[string][2]int64{},
		epoch: map[int]map[int64]string{}}
	var wg sync.WaitGroup
	errs := make([]error, parts)
	for p := range parts {
		wg.Go(func() {
			errs[p] = readPartition(t.Context(), brokers, topic, p, func(m *kafka.Message) { d.take(m, shards) })
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	lost := int64(0)
	for k, n := range next {
		lost += n - int64(len(d.n[k]))
	}
	if lost != 0 || len(d.wrong) > 0 {
		t.Errorf("%s: %d lost\n%s", topic, lost, strings.Join(d.wrong, "\n"))
	}
	return d
}

func readPartition(ctx context.Context, brokers []string, topic string, partition int,
	take func(*kafka.Message)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	conn, err := kafka.DialLeader(ctx, "tcp", brokers[0], topic, partition)
	if err != nil {
		return err
	}
	end, err := conn.ReadLastOffset()
	if err := errors.Join(err, conn.Close()); err != nil || end == 0 {
		return err
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: partition, MaxWait: time.Second})
	defer r.Close()
	for at := int64(-1); at < end-1; {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return fmt.Errorf("%s/%d behind %d: %w", topic, partition, at, err)
		}
		at = m.Offset
		take(&m)
	}
	return nil
}

// silences are how long the shards of a daemon fired nowhere after each blow that took them from it: from the blow to
// the end of the longest pause that began about then.
func (at fired) silences(b *blow) (list []time.Duration) {
	const before, after = 300 * time.Millisecond, 3 * time.Second
	for _, shard := range b.shards {
		rows := at[shard]
		from, _ := slices.BinarySearchFunc(rows, b.at.Add(-before), writing.compare)
		longest, end := time.Duration(0), time.Time{}
		for i := from; i+1 < len(rows) && rows[i].at.Before(b.at.Add(after)); i++ {
			if pause := rows[i+1].at.Sub(rows[i].at); pause > longest && rows[i+1].at.After(b.at) {
				longest, end = pause, rows[i+1].at
			}
		}
		if longest > 0 {
			list = append(list, end.Sub(b.at))
		}
	}
	return list
}

// elsewhere is how long it was from a blow until each shard of the daemon fired at another one, where that was before
// the blow was long undone: a drain that is, gives some back before they have fired.
func (at fired) elsewhere(b *blow) (list []time.Duration) {
	for _, shard := range b.shards {
		rows := at[shard]
		from, _ := slices.BinarySearchFunc(rows, b.at, writing.compare)
		for _, row := range rows[from:] {
			if row.at.After(b.until.Add(felt)) {
				break
			}
			if row.by != "graphd-"+b.member {
				list = append(list, row.at.Sub(b.at))
				break
			}
		}
	}
	return list
}

// tellSilences prints, for each kind of blow, when shards fired elsewhere and until when they were silent, of blows
// that nothing else was beside and of the others.
func (d *dealer) tellSilences(at fired) {
	d.f.t.Helper()
	type felt struct{ elsewhere, last, silent, taken []time.Duration }
	times, counted := map[string]*[2]felt{}, map[string]int{}
	for _, b := range d.blows {
		counted[b.kind]++
		if times[b.kind] == nil {
			times[b.kind] = &[2]felt{}
		}
		of := &times[b.kind][0]
		if !b.alone {
			of = &times[b.kind][1]
		}
		if b.away {
			list := at.elsewhere(b)
			of.elsewhere = append(of.elsewhere, list...)
			of.silent = append(of.silent, at.silences(b)...)
			if len(list) > 0 {
				of.last = append(of.last, slices.Max(list))
			}
			if b.taken > 0 {
				of.taken = append(of.taken, b.taken)
			}
		}
	}
	for i := range faultKinds {
		kind := faultKinds[i].kind
		line := fmt.Sprintf("%3d %s", counted[kind], kind)
		for n, what := range []string{"alone", "beside others"} {
			if of := times[kind]; of != nil && len(of[n].silent) > 0 {
				line += fmt.Sprintf("; %s %d of %d shards fired elsewhere after %s, the last of each after %s, silent "+
					"until %s", what, len(of[n].elsewhere), len(of[n].silent), told(of[n].elsewhere), told(of[n].last),
					told(of[n].silent))
				if len(of[n].taken) > 0 {
					line += ", answered after " + told(of[n].taken)
				}
			}
		}
		d.f.t.Log(line)
	}
}

// told are percentiles of times.
func told(list []time.Duration) string {
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	at := func(part int) float64 { return list[(len(list)-1)*part/100].Seconds() }
	return fmt.Sprintf("p50 %.2fs p95 %.2fs max %.2fs", at(50), at(95), at(100))
}
