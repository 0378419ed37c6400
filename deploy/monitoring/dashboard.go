package monitoring

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/telemetry"
)

// object is one of Grafana's.
type object = map[string]any

// The grid of a dashboard is 24 wide.
const (
	gridWidth   = 24
	panelWidth  = 8
	panelHeight = 7
	statWidth   = 4
	statHeight  = 4
)

// section is a row of the dashboard: the metrics with just these labels among those that say what they are of.
type section struct {
	title, of string
}

// sections are the rows: each metric stands in the first one whose label it has.
func sections() []section {
	return []section{
		{"Inputs", "accumulator"}, {"Outputs", "output"}, {"Graphs", "graph"}, {"Tenants", "tenant"}, {"Daemon", ""},
	}
}

// of says in which section a metric stands.
func sectionOf(d *telemetry.Description) int {
	return slices.IndexFunc(sections(), func(s section) bool { return s.of == "" || slices.Contains(d.Labels, s.of) })
}

// board is a dashboard that is being laid out.
type board struct {
	panels []object
	x, y   int
	height int // of the line that is being filled
}

// add puts a panel behind the last one, or on a line of its own.
func (b *board) add(panel object, width, height int) {
	if b.x+width > gridWidth || b.x > 0 && height != b.height {
		b.line()
	}
	panel["id"], panel["gridPos"] = len(b.panels)+1, object{"x": b.x, "y": b.y, "w": width, "h": height}
	b.panels, b.x, b.height = append(b.panels, panel), b.x+width, height
}

func (b *board) line() {
	if b.x > 0 {
		b.x, b.y = 0, b.y+b.height
	}
}

func (b *board) row(title string) {
	b.line()
	b.add(object{"type": "row", "title": title, "collapsed": false, "panels": []object{}}, gridWidth, 1)
}

// dashboard shows every metric that is described, and above them what to look at first.
func dashboard() ([]byte, error) {
	var b board
	b.row("At a glance")
	for _, s := range glance() {
		b.add(stat(s[0], s[1]), statWidth, statHeight)
	}
	for i, s := range sections() {
		b.row(s.title)
		for _, d := range telemetry.Descriptions() {
			if sectionOf(&d) == i {
				b.add(panel(&d), panelWidth, panelHeight)
			}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(object{
		"title": "graphd", "uid": "graphd", "tags": []string{"graphd"}, "schemaVersion": 39, "version": 1,
		"editable": true, "refresh": "30s", "time": object{"from": "now-1h", "to": "now"},
		"templating": object{"list": variables()}, "panels": b.panels,
		"links": []object{{"title": "Runbook", "type": "link", "url": Runbook, "targetBlank": true}},
	})
	return out.Bytes(), err
}

// glance are the titles and queries of the first line.
func glance() [][2]string {
	const graphs = `{job=~"$job",tenant=~"$tenant",graph=~"$graph"}`
	with := func(state string) string {
		return `sum(graphd_health{job=~"$job",tenant=~"$tenant",graph=~"$graph",state=~"` + state + `"}) or vector(0)`
	}
	return [][2]string{
		{"Live", with("live")}, {"Degraded", with("degraded")}, {"Failed or halted", with("failed|halted")},
		{"Events per second", `sum(rate(graphd_events_received_total` + graphs + `[$__rate_interval]))`},
		{"Epochs per second", `sum(rate(graphd_epochs_total` + graphs + `[$__rate_interval]))`},
		{"Dead letters in the last hour", `sum(increase(graphd_events_dead_lettered_total` + graphs + `[1h]))`},
	}
}

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

func stat(title, expr string) object {
	return object{
		"type": "stat", "title": title, "datasource": source(),
		"targets":     []object{{"refId": "A", "expr": expr, "datasource": source(), "instant": true}},
		"fieldConfig": object{"defaults": object{"decimals": 0}, "overrides": []object{}},
		"options":     object{"colorMode": "none", "reduceOptions": object{"calcs": []string{"lastNotNull"}}},
	}
}

// panel shows one metric over time.
func panel(d *telemetry.Description) object {
	title := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(d.Name, "graphd_"), "_total"), "_", " ")
	unit := unitOf(d)
	var targets []object
	for i, q := range Queries(d) {
		targets = append(targets, object{"refId": string(rune('A' + i)), "expr": q.Expr, "legendFormat": q.Legend,
			"datasource": source()})
	}
	return object{
		"type": "timeseries", "title": title, "description": d.Help, "datasource": source(), "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": unit, "min": 0}, "overrides": []object{}},
		"options":     object{"tooltip": object{"mode": "multi"}},
	}
}

func unitOf(d *telemetry.Description) string {
	name := strings.TrimSuffix(d.Name, "_total")
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "dateTimeAsIso"
	case strings.HasSuffix(name, "_seconds") && d.Kind == telemetry.KindCounter:
		return "percentunit" // seconds of each second
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes") && d.Kind == telemetry.KindCounter:
		return "Bps"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	case d.Kind == telemetry.KindCounter:
		return "cps"
	}
	return "short"
}

// Query is one of a panel.
type Query struct{ Expr, Legend string }

// Queries are those by which a metric is shown.
func Queries(d *telemetry.Description) []Query {
	var match, by, legend []string
	match = append(match, `job=~"$job"`)
	for _, l := range d.Labels {
		if l == "tenant" || l == "graph" {
			match = append(match, l+`=~"$`+l+`"`)
		}
		by, legend = append(by, l), append(legend, "{{"+l+"}}")
	}
	if !slices.Contains(by, "graph") {
		by, legend = append(by, "instance"), append(legend, "{{instance}}")
	}
	pick, groups, name := "{"+strings.Join(match, ",")+"}", strings.Join(by, ", "), strings.Join(legend, " ")
	switch d.Kind {
	case telemetry.KindCounter:
		return []Query{{"sum by (" + groups + ") (rate(" + d.Name + pick + "[$__rate_interval]))", name}}
	case telemetry.KindHistogram:
		quantile := func(q string) Query {
			rate := "rate(" + d.Name + "_bucket" + pick + "[$__rate_interval])"
			return Query{"histogram_quantile(0." + q + ", sum by (le, " + groups + ") (" + rate + "))",
				"p" + q + " " + name}
		}
		return []Query{quantile("50"), quantile("99")}
	}
	if strings.HasSuffix(d.Name, "_timestamp_seconds") {
		return []Query{{"1000 * " + d.Name + pick, name}}
	}
	return []Query{{d.Name + pick, name}}
}

// variables are what the dashboard is narrowed by.
func variables() []object {
	list := []object{{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}}
	for _, v := range [][2]string{
		{"job", `label_values(graphd_build_info, job)`},
		{"tenant", `label_values(graphd_health{job=~"$job"}, tenant)`},
		{"graph", `label_values(graphd_health{job=~"$job",tenant=~"$tenant"}, graph)`},
	} {
		list = append(list, object{
			"name": v[0], "type": "query", "query": v[1], "datasource": source(), "refresh": 2, "sort": 1,
			"multi": true, "includeAll": true, "allValue": ".*",
			"current": object{"text": "All", "value": "$__all"},
		})
	}
	return list
}
