package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed w1.yaml
var w1Declaration []byte

//go:embed w2.yaml
var w2Declaration []byte

//go:embed w3.yaml
var w3Declaration []byte

//go:embed w5.yaml
var w5Declaration []byte

// workload is one job with its inputs.
type workload struct {
	name        string
	title       string
	declaration []byte
	form        []string // what of the declaration users write otherwise, and how
	output      string
	target      float64 // CPU seconds per million events to be reached
	inputs      []input
	outputs     func(events int) int64 // how many values come out; nil where only the floor knows
}

// input is one accumulator's file.
type input struct {
	name string
	line func(dst []byte, r *rand.Rand, i int) []byte
}

// files is a workload's prepared input.
type files struct {
	declaration string
	form        string   // the declaration as users write it
	paths       []string // by input
	events      int
	outputs     int64 // -1: the floor has not said yet
	bytes       int64
}

func workloads() []workload {
	return []workload{
		{
			name: "w1", declaration: w1Declaration, output: "wide", target: 0.5,
			title: "keep ask-bid > 0.015, make {symbol, mid, spread, ts}; one file, sequential, every kept event " +
				"an epoch",
			form: []string{"    where: event.ask - event.bid > 0.015\n", "",
				"sequential }", "sequential, guard: ticks.spread > 0.015 }"},
			inputs:  []input{{"ticks", appendTick}},
			outputs: func(n int) int64 { return int64(n+1) / 2 },
		},
		{
			name: "w2", declaration: w2Declaration, output: "edges", target: 0.6,
			title: "fair - (bid+ask)/2 over the latest of two files; sequential, when any, every event an epoch; " +
				"one key",
			form:    []string{"reactor: {", "reactor: { key: symbol,"},
			inputs:  []input{{"book", appendBook}, {"price", appendPrice}},
			outputs: func(n int) int64 { return int64(n) - 1 }, // the first event has no other side yet
		},
		{
			name: "w3", declaration: w3Declaration, output: "windows", target: 0.5,
			title:  "tumbling windows of 10 s of event time, 1,000 symbols: n, mean, min, max",
			form:   []string{"mean(event.bid)", "mean((event.bid + event.bid) / 2)"},
			inputs: []input{{"ticks", appendTick}},
		},
		{
			name: "w5", declaration: w5Declaration, output: "verdicts", target: 3,
			title: "join orders and payments of one key within 5 minutes, out of order by up to a minute, and the " +
				"orders without a payment",
			form: []string{"type: left", "type: left, max_rows: 200000"},
			inputs: []input{
				{"orders", func(dst []byte, _ *rand.Rand, i int) []byte { return appendOrder(dst, i) }},
				{"payments", func(dst []byte, _ *rand.Rand, i int) []byte { return appendPayment(dst, i) }},
			},
		},
	}
}

const firstTS = 1_700_000_000_123

// appendTick writes a tick of 65 bytes with its line feed; every other one is 0.02 wide, the rest 0.01.
func appendTick(dst []byte, r *rand.Rand, i int) []byte {
	return appendQuote(dst, r.IntN(1000), 10_000+r.IntN(9_900), 2-i%2, i)
}

func appendBook(dst []byte, r *rand.Rand, i int) []byte {
	return appendQuote(dst, 0, 10_000+r.IntN(9_900), 1+r.IntN(9), i)
}

func appendPrice(dst []byte, r *rand.Rand, i int) []byte {
	dst = append(dst, `{"symbol":"SYM000","fair":`...)
	dst = appendCents(dst, 10_000+r.IntN(9_900))
	return appendTS(dst, i)
}

func appendQuote(dst []byte, symbol, bid, spread, i int) []byte {
	dst = append(dst, `{"symbol":"SYM`...)
	dst = append(dst, byte('0'+symbol/100), byte('0'+symbol/10%10), byte('0'+symbol%10))
	dst = append(dst, `","bid":`...)
	dst = appendCents(dst, bid)
	dst = append(dst, `,"ask":`...)
	dst = appendCents(dst, bid+spread)
	return appendTS(dst, i)
}

func appendCents(dst []byte, n int) []byte {
	dst = strconv.AppendInt(dst, int64(n/100), 10)
	return append(dst, '.', byte('0'+n/10%10), byte('0'+n%10))
}

func appendTS(dst []byte, i int) []byte {
	dst = append(dst, `,"ts":`...)
	dst = strconv.AppendInt(dst, firstTS+int64(i), 10)
	return append(dst, '}', '\n')
}

// prepare writes the declaration and the inputs to dir: the same bytes every time. An
// input that is there with the size it should have is left alone.
func (wl *workload) prepare(dir string, events int) (*files, error) {
	dir = filepath.Join(dir, wl.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	f := &files{declaration: filepath.Join(dir, wl.name+".yaml"), form: filepath.Join(dir, "form.yaml")}
	form := strings.NewReplacer(wl.form...).Replace(string(wl.declaration))
	if err := errors.Join(os.WriteFile(f.declaration, wl.declaration, 0o644),
		os.WriteFile(f.form, []byte(form), 0o644)); err != nil {
		return nil, fmt.Errorf("write the declaration: %w", err)
	}
	lines := events / len(wl.inputs)
	f.events, f.outputs = lines*len(wl.inputs), -1
	if wl.outputs != nil {
		f.outputs = wl.outputs(f.events)
	}
	for k := range wl.inputs {
		in := &wl.inputs[k]
		path := filepath.Join(dir, in.name+".ndjson")
		n, err := in.write(path, lines, uint64(k))
		if err != nil {
			return nil, fmt.Errorf("write the input %s: %w", in.name, err)
		}
		f.paths, f.bytes = append(f.paths, path), f.bytes+n
	}
	return f, nil
}

// write makes one file, unless it is there already.
func (in *input) write(path string, lines int, seed uint64) (size int64, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	width := len(in.line(nil, r, 0)) // all lines of an input are equally long
	size = int64(width) * int64(lines)
	if st, err := os.Stat(path); err == nil && st.Size() == size {
		return size, nil
	}
	r = rand.New(rand.NewPCG(seed, 1))
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	var buf []byte
	for i := range lines {
		buf = in.line(buf[:0], r, i)
		if _, err := w.Write(buf); err != nil {
			_ = f.Close()
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		_ = f.Close()
		return 0, err
	}
	return size, f.Close()
}
