package monitoring

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/telemetry"
)

// The severities of alerts.
const (
	// Critical is for what somebody is to look at now.
	Critical = "critical"
	// Warning is for what somebody is to look at in working hours.
	Warning = "warning"
)

// Runbook is where the words on every alert stand.
const Runbook = "https://github.com/graphd/graphd/blob/main/docs/runbook.md"

// Alert is a rule of Prometheus, and how it is shown to fire.
type Alert struct {
	Name, Expr string
	// For is how long Expr holds before the alert fires, as Prometheus writes spans.
	For, Severity string
	// Summary is one sentence; {{ $labels.NAME }} is a label of the alert.
	Summary string
	// By are the labels that Expr leaves; nil are all of its first series.
	By []string
	// Fires are series under which the alert fires at minute [At], and Quiet some under which it does not.
	Fires, Quiet []Series
}

// At is the minute at which every alert fires, or does not, under its series.
const At = 90

// URL is where the alert's words stand.
func (a *Alert) URL() string { return Runbook + "#" + strings.ToLower(a.Name) }

// Series is what a test gives to a metric: a value each minute, as promtool writes it.
type Series struct {
	Metric, Values string
	Labels         map[string]string
}

// series are the values of a metric. Labels are given as name and value, one behind the other; those which are not
// given, and which the metric has, have a value that says what they are.
func series(metric, values string, labels ...string) Series {
	s := Series{metric, values, map[string]string{"job": "graphd", "instance": "a:8080"}}
	for _, d := range telemetry.Descriptions() {
		if d.Name == metric {
			for _, l := range d.Labels {
				s.Labels[l] = "some_" + l
			}
		}
	}
	for i := 0; i+1 < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	return s
}

// String is the series as PromQL writes it.
func (s *Series) String() string {
	var names []string
	for name := range s.Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + `="` + s.Labels[name] + `"`
	}
	return s.Metric + "{" + strings.Join(names, ",") + "}"
}

// labels are those of the alert that its series give it.
func (a *Alert) labels() map[string]string {
	labels := map[string]string{"severity": a.Severity}
	for name, value := range a.Fires[0].Labels {
		if a.By == nil || slices.Contains(a.By, name) {
			labels[name] = value
		}
	}
	return labels
}

// summary is the sentence with the alert's labels in it.
func (a *Alert) summary() string {
	text := a.Summary
	for name, value := range a.labels() {
		text = strings.ReplaceAll(text, "{{ $labels."+name+" }}", value)
	}
	return text
}

// Alerts are all there are, those of graphs first.
func Alerts() []Alert {
	return slices.Concat(graphAlerts(), flowAlerts(), outputAlerts(), quotaAlerts(), durabilityAlerts(), daemonAlerts(),
		memberAlerts())
}
