package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// The files that are made, from the root of the module.
const (
	RulesFile     = "deploy/prometheus/graphd.rules.yaml"
	TestsFile     = "deploy/prometheus/graphd.test.yaml"
	DashboardFile = "deploy/grafana/graphd.json"
)

// File is one that is made.
type File struct {
	Path    string
	Content []byte
}

// Files are all that are made.
func Files() ([]File, error) {
	board, err := dashboard()
	if err != nil {
		return nil, err
	}
	return []File{{RulesFile, rules()}, {TestsFile, tests()}, {DashboardFile, board}}, nil
}

const made = "# Made by `make monitoring` of deploy/monitoring and the descriptions of the metrics: change those.\n"

// rules are the alerts as Prometheus reads them.
func rules() []byte {
	out := bytes.NewBufferString(made +
		"# The daemons are scraped as the job graphd; what to do about each alert stands in docs/runbook.md.\n" +
		"groups:\n  - name: graphd\n    rules:\n")
	for _, a := range Alerts() {
		fmt.Fprintf(out, "      - alert: %s\n        expr: %s\n        for: %s\n", a.Name, quote(a.Expr), a.For)
		fmt.Fprintf(out, "        labels: { severity: %s }\n        annotations:\n", a.Severity)
		fmt.Fprintf(out, "          summary: %s\n          runbook_url: %s\n", quote(a.Summary), a.URL())
	}
	return out.Bytes()
}

// tests are promtool's: each alert where it fires, and where it does not.
func tests() []byte {
	out := bytes.NewBufferString(made + "rule_files: [graphd.rules.yaml]\nevaluation_interval: 1m\ntests:\n")
	for _, a := range Alerts() {
		testCase(out, &a, "fires", a.Fires)
		fmt.Fprint(out, "        exp_alerts:\n          - exp_labels:\n")
		labels := a.labels()
		for _, name := range sortedKeys(labels) {
			if labels[name] != "" {
				fmt.Fprintf(out, "              %s: %s\n", name, quote(labels[name]))
			}
		}
		fmt.Fprintf(out, "            exp_annotations:\n              summary: %s\n              runbook_url: %s\n",
			quote(a.summary()), a.URL())
		testCase(out, &a, "does not fire", a.Quiet)
	}
	return out.Bytes()
}

func testCase(out *bytes.Buffer, a *Alert, what string, list []Series) {
	fmt.Fprintf(out, "  - name: %s %s\n    interval: 1m\n    input_series:\n", a.Name, what)
	for i := range list {
		fmt.Fprintf(out, "      - { series: %s, values: %s }\n", quote(list[i].String()), quote(list[i].Values))
	}
	fmt.Fprintf(out, "    alert_rule_test:\n      - eval_time: %dm\n        alertname: %s\n", At, a.Name)
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// quote is text as YAML and JSON write it, with < and > as they are.
func quote(text string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always can be
	return string(bytes.TrimSpace(out.Bytes()))
}
