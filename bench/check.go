package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// summary is what a variant's output file comes to.
type summary struct {
	lines  int64
	sum    float64 // of the numbers in the values, in order
	digest string  // of the bytes
}

// check has every variant write its outputs to a file: all must be the floor's, to the byte.
func check(ctx context.Context, c *config, wl *workload, f *files) (*summary, error) {
	var first *summary
	for i, v := range variants() {
		path := filepath.Join(filepath.Dir(f.declaration), fmt.Sprintf("out-%d.ndjson", i))
		if _, err := v.once(ctx, c, wl, f, path); err != nil {
			return nil, err
		}
		s, err := summarise(path)
		if err != nil {
			return nil, fmt.Errorf("read the outputs of %s: %w", v.name, err)
		}
		if s.lines != f.outputs {
			return nil, fmt.Errorf("%s put out %d lines, want %d", v.name, s.lines, f.outputs)
		}
		if first == nil {
			first = s
		}
		if v.form { // its epochs have other numbers, and keys
			s.digest = first.digest
		}
		if *s != *first {
			return nil, fmt.Errorf("%s does not put out what the floor does: %+v, want %+v; see %s", v.name, *s, *first,
				path)
		}
	}
	return first, nil
}

func summarise(path string) (*summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s summary
	hash := sha256.New()
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		var line struct{ Value any }
		if err := json.NewDecoder(bytes.NewReader(scan.Bytes())).Decode(&line); err != nil {
			return nil, fmt.Errorf("line %d: %w", s.lines+1, err)
		}
		s.lines++
		s.sum += sumOf(line.Value)
		hash.Write(scan.Bytes())
		hash.Write([]byte{'\n'})
	}
	s.digest = hex.EncodeToString(hash.Sum(nil)[:8])
	return &s, scan.Err()
}

// sumOf adds up a value's price fields, or the value when it is a number.
func sumOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case map[string]any:
		mid, _ := v["mid"].(float64)
		spread, _ := v["spread"].(float64)
		mean, _ := v["mean"].(float64)
		return mid + spread + mean
	}
	return 0
}
