package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/valyala/fastjson"
)

// runFloor is `bench floor WORKLOAD PARSER OUTPUT INPUT…`: what a good programmer would
// write for this one job, as a process of its own. It builds and encodes what graphd
// would put out, line by line; the output "drop" throws the encoded lines away.
func runFloor(args []string) (err error) {
	if len(args) == 1 && args[0] == "relay" {
		return runRelay()
	}
	if len(args) > 0 && args[0] == "kafka" {
		return runKafkaFloor(args[1:])
	}
	if len(args) < 4 {
		return fmt.Errorf("usage: bench floor relay, or bench floor w1|w2|w3|w5 fast|std OUTPUT INPUT…")
	}
	out := &lines{}
	if args[2] != "drop" {
		f, err := os.Create(args[2])
		if err != nil {
			return err
		}
		defer func() {
			if e := f.Close(); err == nil {
				err = e
			}
		}()
		out.w = f
	}
	var in []*bufio.Reader
	for _, path := range args[3:] {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = append(in, bufio.NewReaderSize(f, 256<<10))
	}
	switch args[0] + " " + args[1] {
	case "w1 fast":
		err = w1Fast(in[0], out)
	case "w1 std":
		err = w1Std(in[0], out)
	case "w2 fast":
		err = w2(in, out, &fastSides{})
	case "w2 std":
		err = w2(in, out, &stdSides{})
	case "w3 fast":
		err = w3(in[0], out, fastQuote())
	case "w3 std":
		err = w3(in[0], out, stdQuote)
	case "w5 fast":
		err = w5(in, out, fastJoin())
	case "w5 std":
		err = w5(in, out, stdJoin)
	default:
		err = fmt.Errorf("there is no floor %q", args[0]+" "+args[1])
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "{\"outputs\":%d}\n", out.n)
	return out.flush()
}

// lines collects encoded lines and writes them in large pieces, or nowhere.
type lines struct {
	w   io.Writer // nil drops
	buf []byte
	n   int64 // lines, which are graphd's epochs where every epoch has one output
}

// begin starts a line for an epoch's output.
func (l *lines) begin(epoch int64, output string) {
	l.n++
	l.buf = append(l.buf, `{"epoch":`...)
	l.buf = strconv.AppendInt(l.buf, epoch, 10)
	l.buf = append(l.buf, `,"key":null,"output":"`...)
	l.buf = append(l.buf, output...)
	l.buf = append(l.buf, `","value":`...)
}

func (l *lines) end() error {
	l.buf = append(l.buf, '}', '\n')
	if len(l.buf) < 256<<10 {
		return nil
	}
	return l.flush()
}

func (l *lines) flush() error {
	if l.w != nil {
		if _, err := l.w.Write(l.buf); err != nil {
			return err
		}
	}
	l.buf = l.buf[:0]
	return nil
}

// appendNumber writes the shortest decimal that reads back as f.
func appendNumber(dst []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	format := byte('f')
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if e := len(dst); format == 'e' && e-n > 4 && dst[e-3] == '-' && dst[e-2] == '0' {
		dst[e-2] = dst[e-1]
		dst = dst[:e-1]
	}
	return dst
}

// next is the next line, nil at the end.
func next(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return nil, nil
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte{'\n'}), nil
}

func w1Fast(in *bufio.Reader, out *lines) error {
	var p fastjson.Parser
	for {
		line, err := next(in)
		if line == nil {
			return err
		}
		v, err := p.ParseBytes(line)
		if err != nil {
			return err
		}
		bid, ask := v.GetFloat64("bid"), v.GetFloat64("ask")
		if ask-bid <= 0.015 {
			continue
		}
		out.begin(out.n+1, "wide")
		out.buf = appendWide(out.buf, v, bid, ask)
		if err := out.end(); err != nil {
			return err
		}
	}
}

// appendWide writes W1's value of a tick.
func appendWide(dst []byte, v *fastjson.Value, bid, ask float64) []byte {
	dst = append(dst, `{"mid":`...)
	dst = appendNumber(dst, (bid+ask)/2)
	dst = append(dst, `,"spread":`...)
	dst = appendNumber(dst, ask-bid)
	dst = append(dst, `,"symbol":"`...)
	dst = append(dst, v.GetStringBytes("symbol")...)
	dst = append(dst, `","ts":`...)
	dst = strconv.AppendInt(dst, v.GetInt64("ts"), 10)
	return append(dst, '}')
}

// tick and wide are W1's input and output for encoding/json.
type tick struct {
	Symbol   string
	Bid, Ask float64
	TS       int64
}

type wide struct {
	Mid    float64 `json:"mid"`
	Spread float64 `json:"spread"`
	Symbol string  `json:"symbol"`
	TS     int64   `json:"ts"`
}

func w1Std(in *bufio.Reader, out *lines) error {
	for {
		line, err := next(in)
		if line == nil {
			return err
		}
		var t tick
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		if t.Ask-t.Bid <= 0.015 {
			continue
		}
		value, err := json.Marshal(wide{(t.Bid + t.Ask) / 2, t.Ask - t.Bid, t.Symbol, t.TS})
		if err != nil {
			return err
		}
		out.begin(out.n+1, "wide")
		out.buf = append(out.buf, value...)
		if err := out.end(); err != nil {
			return err
		}
	}
}

// sides reads W2's events into the latest of both sides.
type sides interface {
	book(line []byte) (bid, ask float64, err error)
	price(line []byte) (fair float64, err error)
}

// w2 takes one event of each file in turn, as graphd does where no time is declared.
func w2(in []*bufio.Reader, out *lines, s sides) error {
	var bid, ask, fair float64
	var seen [2]bool
	for epoch, open := int64(0), 2; open > 0; {
		open = 0
		for side := range in {
			line, err := next(in[side])
			if err != nil {
				return err
			}
			if line == nil {
				continue
			}
			open++
			epoch++
			if side == 0 {
				bid, ask, err = s.book(line)
			} else {
				fair, err = s.price(line)
			}
			if err != nil {
				return err
			}
			seen[side] = true
			if !seen[0] || !seen[1] {
				continue
			}
			out.begin(epoch, "edges")
			out.buf = appendNumber(out.buf, fair-(bid+ask)/2)
			if err := out.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

type fastSides struct{ p fastjson.Parser }

func (s *fastSides) book(line []byte) (bid, ask float64, err error) {
	v, err := s.p.ParseBytes(line)
	if err != nil {
		return 0, 0, err
	}
	return v.GetFloat64("bid"), v.GetFloat64("ask"), nil
}

func (s *fastSides) price(line []byte) (fair float64, err error) {
	v, err := s.p.ParseBytes(line)
	if err != nil {
		return 0, err
	}
	return v.GetFloat64("fair"), nil
}

type stdSides struct{}

func (stdSides) book(line []byte) (bid, ask float64, err error) {
	var t tick
	err = json.Unmarshal(line, &t)
	return t.Bid, t.Ask, err
}

func (stdSides) price(line []byte) (fair float64, err error) {
	var p struct{ Fair float64 }
	err = json.Unmarshal(line, &p)
	return p.Fair, err
}
