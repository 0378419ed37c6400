package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/spec"
)

func BenchmarkParse(b *testing.B) {
	var large strings.Builder
	large.WriteString("graph: g\naccumulators: { a: {} }\nnodes:\n")
	for i := range 5000 {
		fmt.Fprintf(&large, "  n%d: { expr: 'a.x + %d', after: n0, event: true }\n", i+1, i)
	}
	large.WriteString("  n0: { expr: a.x }\n")
	small, err := readTestdata("testdata/valid/everything.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"small": small, "5000 nodes": large.String()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, diags := parse([]byte(text), spec.Options{}); len(diags) > 0 {
					b.Fatal(diags)
				}
			}
		})
	}
}
