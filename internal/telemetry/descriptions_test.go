package telemetry

import (
	"slices"
	"strings"
	"testing"
)

// TestDescriptions: what is generated from the descriptions is what is exposed, in name, kind and labels.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	reg, err := NewRegistry(fakeSource{[]GraphMetrics{full()}}, BuildInfo{})
	if err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]string{}
	for _, d := range Descriptions() {
		labels := slices.Sorted(slices.Values(d.Labels))
		described[d.Name] = strings.Join(append([]string{strings.ToUpper(d.Kind), d.Help}, labels...), " ")
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "graphd_") {
			continue
		}
		words := []string{f.GetType().String(), f.GetHelp()}
		for _, l := range f.GetMetric()[0].GetLabel() {
			words = append(words, l.GetName())
		}
		if want, got := strings.Join(words, " "), described[f.GetName()]; got != want {
			t.Errorf("%s is described as %q, and exposed as %q", f.GetName(), got, want)
		}
		delete(described, f.GetName())
	}
	for name := range described {
		t.Errorf("%s is described, and not exposed", name)
	}
}
