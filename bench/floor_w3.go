package main

import (
	"bufio"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fastjson"
)

// span is W3's window of one symbol.
type span struct {
	n         int64
	low, high float64
	sum, lost float64 // the sum, and what rounding took from it
}

func (s *span) add(v float64) {
	if s.n == 0 || v < s.low {
		s.low = v
	}
	if s.n == 0 || v > s.high {
		s.high = v
	}
	s.n++
	sum := s.sum + v // Neumaier's way, as graphd adds
	if max(s.sum, -s.sum) >= max(v, -v) {
		s.lost += s.sum - sum + v
	} else {
		s.lost += v - sum + s.sum
	}
	s.sum = sum
}

const spanMillis = 10_000

// w3 folds the ticks of each ten seconds by symbol; quote reads one line.
func w3(in *bufio.Reader, out *lines, quote func(line []byte) (symbol []byte, bid float64, ts int64, err error)) error {
	open := make(map[string]*span)
	var used []string
	began := int64(-1)
	for {
		line, err := next(in)
		if err != nil {
			return err
		}
		if line == nil {
			return closeSpans(out, open, used, began)
		}
		symbol, bid, ts, err := quote(line)
		if err != nil {
			return err
		}
		if start := ts / spanMillis * spanMillis; start != began {
			if err := closeSpans(out, open, used, began); err != nil {
				return err
			}
			began, used = start, used[:0]
		}
		s := open[string(symbol)]
		if s == nil {
			s = &span{}
			open[string(symbol)] = s
		}
		if s.n == 0 {
			used = append(used, string(symbol))
		}
		s.add(bid)
	}
}

// closeSpans puts out a window's symbols in order, and empties them for the next.
func closeSpans(out *lines, open map[string]*span, used []string, began int64) error {
	slices.Sort(used)
	const layout = "2006-01-02T15:04:05.000Z"
	for _, symbol := range used {
		s := open[symbol]
		out.begin(out.n+1, "windows")
		b := append(out.buf, `{"end":"`...)
		b = time.UnixMilli(began+spanMillis).UTC().AppendFormat(b, layout)
		b = append(b, `","high":`...)
		b = appendNumber(b, s.high)
		b = append(append(append(b, `,"key":"`...), symbol...), `","low":`...)
		b = appendNumber(b, s.low)
		b = append(b, `,"mean":`...)
		b = appendNumber(b, (s.sum+s.lost)/float64(s.n))
		b = append(b, `,"n":`...)
		b = strconv.AppendInt(b, s.n, 10)
		b = append(b, `,"start":"`...)
		b = time.UnixMilli(began).UTC().AppendFormat(b, layout)
		b = append(append(append(b, `","symbol":"`...), symbol...), `"}`...)
		out.buf = b
		if err := out.end(); err != nil {
			return err
		}
		*s = span{}
	}
	return nil
}

// fastQuote and stdQuote read a tick with either parser.
func fastQuote() func(line []byte) ([]byte, float64, int64, error) {
	var p fastjson.Parser
	return func(line []byte) ([]byte, float64, int64, error) {
		v, err := p.ParseBytes(line)
		if err != nil {
			return nil, 0, 0, err
		}
		return v.GetStringBytes("symbol"), v.GetFloat64("bid"), v.GetInt64("ts"), nil
	}
}

func stdQuote(line []byte) ([]byte, float64, int64, error) {
	var t tick
	if err := json.Unmarshal(line, &t); err != nil {
		return nil, 0, 0, err
	}
	return []byte(t.Symbol), t.Bid, t.TS, nil
}
