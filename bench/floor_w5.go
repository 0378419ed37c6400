package main

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"
)

// What W5 declares, in milliseconds.
const (
	joinAfter    = 300_000
	joinLateness = 60_000
)

// joinEvent is an order, or a payment of one.
type joinEvent struct {
	order, payment string
	at             int64
	n              int // of its file
	paid           bool
}

// joinQueue is events by their times: a heap.
type joinQueue []*joinEvent

func (q joinQueue) Len() int { return len(q) }
func (q joinQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].n, q[j].n)) < 0
}
func (q joinQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *joinQueue) Push(x any)   { *q = append(*q, x.(*joinEvent)) }
func (q *joinQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

// w5 joins payments to orders, as far as time has come in both files together: of the next events of both the earliest
// is taken, and what is behind happens now.
func w5(in []*bufio.Reader, out *lines, read func(line []byte, side int) (joinEvent, error)) error {
	var sides [2]map[string][]*joinEvent
	var queues [2]joinQueue
	var heads [2]*joinEvent
	advance := func(side int) error {
		heads[side] = nil
		line, err := next(in[side])
		if line == nil || err != nil {
			return err
		}
		e, err := read(line, side)
		heads[side] = &e
		return err
	}
	for side := range sides {
		sides[side] = map[string][]*joinEvent{}
		if err := advance(side); err != nil {
			return err
		}
	}
	for now, n := int64(0), 0; ; {
		least := int64(math.MaxInt64)
		for _, e := range heads {
			if e != nil {
				least = min(least, max(e.at, now))
			}
		}
		if now = least; now == math.MaxInt64 {
			return forgetOrders(out, sides[0], &queues[0], now)
		}
		if err := forgetOrders(out, sides[0], &queues[0], now-joinLateness-joinAfter); err != nil {
			return err
		}
		forget(sides[1], &queues[1], now-joinLateness, nil)
		for side := range heads {
			for heads[side] != nil && heads[side].at <= now {
				e := heads[side]
				n++
				e.n = n
				if err := joinOne(out, &sides, e, side); err != nil {
					return err
				}
				sides[side][e.order] = append(sides[side][e.order], e)
				heap.Push(&queues[side], e)
				if err := advance(side); err != nil {
					return err
				}
			}
		}
	}
}

// joinOne puts out the pairs that an event makes with those that are here.
func joinOne(out *lines, sides *[2]map[string][]*joinEvent, e *joinEvent, side int) error {
	var found []*joinEvent
	for _, other := range sides[1-side][e.order] {
		o, p := e, other
		if side == 1 {
			o, p = other, e
		}
		if p.at >= o.at && p.at <= o.at+joinAfter {
			found = append(found, other)
		}
	}
	slices.SortStableFunc(found, func(a, b *joinEvent) int { return cmp.Compare(a.at, b.at) })
	for _, other := range found {
		o, p := e, other
		if side == 1 {
			o, p = other, e
		}
		o.paid = true
		if err := verdict(out, o.order, p.payment); err != nil {
			return err
		}
	}
	return nil
}

// forgetOrders lets go of the orders of before a time, and puts out those without a payment.
func forgetOrders(out *lines, orders map[string][]*joinEvent, q *joinQueue, before int64) (err error) {
	forget(orders, q, before, func(e *joinEvent) {
		if !e.paid && err == nil {
			err = verdict(out, e.order, "")
		}
	})
	return err
}

func forget(side map[string][]*joinEvent, q *joinQueue, before int64, each func(e *joinEvent)) {
	for len(*q) > 0 && (*q)[0].at < before {
		e := heap.Pop(q).(*joinEvent)
		if each != nil {
			each(e)
		}
		rest := slices.DeleteFunc(side[e.order], func(o *joinEvent) bool { return o == e })
		if side[e.order] = rest; len(rest) == 0 {
			delete(side, e.order)
		}
	}
}

func verdict(out *lines, order, payment string) error {
	out.begin(out.n+1, "verdicts")
	out.buf = append(append(append(out.buf, `{"order":"`...), order...), `","paid":`...)
	if payment == "" {
		out.buf = append(out.buf, `false,"payment":null}`...)
		return out.end()
	}
	out.buf = append(append(append(out.buf, `true,"payment":"`...), payment...), `"}`...)
	return out.end()
}

// fastJoin and stdJoin read an order or a payment with either parser.
func fastJoin() func(line []byte, side int) (joinEvent, error) {
	var p fastjson.Parser
	return func(line []byte, side int) (e joinEvent, err error) {
		v, err := p.ParseBytes(line)
		if err != nil {
			return e, err
		}
		e.order, e.at = string(v.GetStringBytes("order")), v.GetInt64("at")
		if side == 1 {
			e.payment = string(v.GetStringBytes("payment"))
		}
		return e, nil
	}
}

func stdJoin(line []byte, _ int) (joinEvent, error) {
	var v struct {
		Order, Payment string
		At             int64
	}
	err := json.Unmarshal(line, &v)
	return joinEvent{order: v.Order, payment: v.Payment, at: v.At}, err
}

// appendOrder writes an order, one every 10 ms and each up to a minute behind; appendPayment one of those of the 500
// seconds before, or of none there is, so that some orders are paid twice, some too late and some not at all.
func appendOrder(dst []byte, i int) []byte {
	dst = appendID(append(dst, `{"order":"o-`...), i)
	dst = append(dst, `","amount":`...)
	dst = strconv.AppendInt(dst, int64(1000+jitter(i, 1)%9000), 10)
	return appendAt(dst, i, 2)
}

func appendPayment(dst []byte, i int) []byte {
	of := i - jitter(i, 3)%50_000
	if of < 0 {
		of += 100_000_000
	}
	dst = appendID(append(dst, `{"payment":"p-`...), i)
	dst = append(appendID(append(dst, `","order":"o-`...), of), '"')
	return appendAt(dst, i, 4)
}

func appendID(dst []byte, n int) []byte {
	text := strconv.Itoa(1_000_000_000 + n)
	return append(dst, text[1:]...)
}

func appendAt(dst []byte, i, kind int) []byte {
	dst = append(dst, `,"at":`...)
	dst = strconv.AppendInt(dst, firstTS+int64(i)*10+int64(jitter(i, kind)%joinLateness), 10)
	return append(dst, '}', '\n')
}

// jitter is a number that is arbitrary and always the same.
func jitter(i, kind int) int {
	x := (uint64(i)*4 + uint64(kind)) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return int((x ^ x>>32) & math.MaxInt32)
}
