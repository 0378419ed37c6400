package differential

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// untilOver keeps what happened before the inputs' ends.
func untilOver(lines []string) []string {
	end := zero.Add(time.Duration(over) * time.Millisecond).Format("2006-01-02T15:04:05")
	return slices.DeleteFunc(lines, func(s string) bool {
		_, value, _ := strings.Cut(s, `["`)
		return value >= end
	})
}

// check compares what lives have said with what a run says.
func (p *clockPlan) check(t *testing.T, what string, out *safeBuffer, want []string) {
	t.Helper()
	got := map[string]bool{}
	var order []string
	for _, line := range untilOver(emitted(t, out.b.Bytes())) {
		if !got[line] {
			got[line] = true
			order = append(order, line)
		}
	}
	for _, output := range p.outputs {
		compare(t, what+": "+output+" of\n"+p.doc, of(output, order), of(output, want))
	}
}
