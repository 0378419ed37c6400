package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/deploy/monitoring"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/graphd/graphd/internal/testbed"
)

// TestMonitoringIsMade: the rules, their tests and the dashboard are what the descriptions of the metrics make.
func TestMonitoringIsMade(t *testing.T) {
	atRoot(t)
	t.Parallel()
	files, err := monitoring.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, f.Content) {
			t.Errorf("%s is not what would be made (%v): run make monitoring, and commit it", f.Path, err)
		}
	}
}

// TestAlertsFire has promtool show each alert where it fires, and where it does not.
func TestAlertsFire(t *testing.T) {
	atRoot(t)
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		testbed.Lacking(t, "no promtool: it is in Debian's package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", monitoring.RulesFile}, {"test", "rules", monitoring.TestsFile}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\bgraphd_[a-z_]+`)
	selector   = regexp.MustCompile(`\b(graphd_[a-z_]+|up)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
)

// described are the labels of each metric; those that Prometheus adds are of all of them.
func described() map[string][]string {
	all := map[string][]string{"up": {"job", "instance"}}
	for _, d := range telemetry.Descriptions() {
		labels := append([]string{"job", "instance"}, d.Labels...)
		all[d.Name] = labels
		if d.Kind == telemetry.KindHistogram {
			all[d.Name+"_bucket"] = append(slices.Clone(labels), "le")
		}
	}
	return all
}

// faults are the metrics and labels of a query that are not there.
func faults(query string, all map[string][]string) (list []string) {
	var labels []string
	for _, name := range metricName.FindAllString(query, -1) {
		if _, ok := all[name]; !ok {
			list = append(list, "there is no metric "+name)
		}
		labels = append(labels, all[name]...)
	}
	for _, m := range selector.FindAllStringSubmatch(query, -1) {
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(all[m[1]], l[1]) {
				list = append(list, m[1]+" has no label "+l[1])
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for l := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(labels, l) {
				list = append(list, "nothing has a label "+l)
			}
		}
	}
	return list
}

// TestQueriesNameWhatIsThere: no alert and no panel asks for a metric, a label, a state, a reason or a limit that
// there is not; and the check sees it if one does.
func TestQueriesNameWhatIsThere(t *testing.T) {
	atRoot(t)
	t.Parallel()
	all := described()
	for _, bad := range []string{
		`graphd_nothing == 1`, `graphd_health{accumulator="a"}`, `sum by (node) (graphd_paused)`,
	} {
		if faults(bad, all) == nil {
			t.Errorf("%s is taken for right", bad)
		}
	}
	for _, a := range monitoring.Alerts() {
		for _, f := range faults(a.Expr, all) {
			t.Errorf("%s: %s", a.Name, f)
		}
		for _, s := range append(slices.Clone(a.Fires), a.Quiet...) {
			for _, f := range faults(s.String(), all) {
				t.Errorf("the test of %s: %s", a.Name, f)
			}
		}
		for _, m := range regexp.MustCompile(`\$labels\.([a-z]+)`).FindAllStringSubmatch(a.Summary, -1) {
			if _, ok := a.Fires[0].Labels[m[1]]; !ok || a.By != nil && !slices.Contains(a.By, m[1]) {
				t.Errorf("%s tells its label %s, which it has not", a.Name, m[1])
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile(monitoring.DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			for _, f := range faults(q.Expr, all) {
				t.Errorf("panel %s: %s", p.Title, f)
			}
		}
	}
	for name := range all {
		if name != "up" && !bytes.Contains(text, []byte(name)) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// TestAlertsAskForValuesThatAreThere: states, reasons and limits in the queries are those of the product.
func TestAlertsAskForValuesThatAreThere(t *testing.T) {
	atRoot(t)
	t.Parallel()
	operations := readPage(t, "docs/operations.md").text
	limits := ""
	for _, path := range []string{"internal/engine/limits.go", "internal/server/daemon.go", "internal/quota/quota.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		limits += string(text)
	}
	for _, a := range monitoring.Alerts() {
		for _, m := range matcher.FindAllStringSubmatch(a.Expr, -1) {
			for value := range strings.SplitSeq(m[3], "|") {
				switch m[1] {
				case "state", "reason":
					if !strings.Contains(operations, "`"+value+"`") && value != "live" {
						t.Errorf("%s asks for the %s %s, which docs/operations.md does not know", a.Name, m[1], value)
					}
				case "limit":
					quota := strings.Contains(a.Expr, "graphd_quota_") && strings.Contains(limits, `Name = "`+value+`"`)
					if !quota && !strings.Contains(limits, `Name: "`+value+`"`) {
						t.Errorf("%s asks for the limit %s, which there is not", a.Name, value)
					}
				}
			}
		}
	}
}

// runbookEntry is one heading of docs/runbook.md with its words.
var runbookEntry = regexp.MustCompile("(?ms)^### `?([A-Za-z_]+)`?\n(.*?)(?:^#|\\z)")

func runbook(t *testing.T) map[string]string {
	t.Helper()
	entries, text := map[string]string{}, readPage(t, "docs/runbook.md").text
	for text != "" {
		m := runbookEntry.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		entries[text[m[2]:m[3]]] = text[m[4]:m[5]]
		text = text[m[5]:]
	}
	return entries
}

// TestAlertsLeadToTheRunbook: every alert has its words in docs/runbook.md, and every words there are an alert's or a
// health reason's.
func TestAlertsLeadToTheRunbook(t *testing.T) {
	atRoot(t)
	t.Parallel()
	entries, reasons := runbook(t), healthReasons(t)
	if len(entries) < 50 {
		t.Fatalf("only %d entries were found", len(entries))
	}
	wanted := slices.Clone(reasons)
	for _, a := range monitoring.Alerts() {
		if a.URL() != monitoring.Runbook+"#"+strings.ToLower(a.Name) {
			t.Errorf("%s leads to %s", a.Name, a.URL())
		}
		wanted = append(wanted, a.Name)
	}
	for _, name := range wanted {
		words := entries[name]
		for _, part := range []string{"Means", "Look", "Do", "Call somebody"} {
			if !strings.Contains(words, "\n- **"+part+"**: ") {
				t.Errorf("docs/runbook.md does not say under %s: %s", name, part)
			}
		}
		delete(entries, name)
	}
	for name := range entries {
		t.Errorf("docs/runbook.md has %s, which is neither an alert nor a health reason", name)
	}
}

// reasonsIn are the places where a health gets its reason, as the sources write them.
var reasonsIn = []*regexp.Regexp{
	regexp.MustCompile(`[lL]ife\.set\(Health\w+, "(\w+)"`), regexp.MustCompile(`life\.halt\("(\w+)"`),
	regexp.MustCompile(`Standing\{Code: "(\w+)"`), regexp.MustCompile(`ReasonOf\("(\w+)"`),
	regexp.MustCompile(`&api\.Reason\{Code: "(stuck_node|reactor_busy)"`), regexp.MustCompile(`code, detail = "(\w+)"`),
	regexp.MustCompile(`Health\(accumulator\.\w+, "(\w+)"`), regexp.MustCompile(`setHealth\(reactor\.\w+, "(\w+)"`),
	regexp.MustCompile(`cmp\.Or\(checkpoint\.Ailment\(ev\.Err\), "(\w+)"`),
	regexp.MustCompile(`code := "(output_\w+)"`),
	regexp.MustCompile(`code = "(output_\w+)"`), regexp.MustCompile(`\.Code, why\.Detail = "(\w+)"`),
	regexp.MustCompile(`Health = "(\w+)"`), regexp.MustCompile(`return "(\w+)", fmt\.Sprintf`),
}

// returned are the functions that answer with a reason.
var returned = regexp.MustCompile(`(?ms)^func (?:FailureCode|Ailment)\(.*?^}`)

// healthReasons are all reasons that a health can have: those that the sources give, each with its row in
// docs/operations.md.
func healthReasons(t *testing.T) []string {
	t.Helper()
	operations := readPage(t, "docs/operations.md").text
	_, table, _ := strings.Cut(operations, "| `health_reason` |")
	table, _, _ = strings.Cut(table, "\n\n")
	found := map[string]string{}
	for _, pattern := range []string{"internal/reactor", "internal/lease", "internal/graphrun", "internal/graphrun/*",
		"internal/graphrun/told/*", "internal/live", "internal/checkpoint", "internal/accumulator",
		"internal/accumulator/pump"} {
		files, err := filepath.Glob(pattern + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil || strings.HasSuffix(path, "_test.go") {
				continue
			}
			collectReasons(string(text), path, found)
		}
	}
	var all []string
	for reason, where := range found {
		word, isHealth := strings.CutPrefix(reason, "accumulator_")
		if !strings.Contains(table, "`"+reason+"`") && !(isHealth && strings.Contains(table, "`accumulator_")) {
			t.Errorf("%s gives the health reason %s, which docs/operations.md does not have %s", where, reason, word)
		}
		all = append(all, reason)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]*`) ").FindAllStringSubmatch(table, -1) {
		for _, word := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[1], -1) {
			if found[word[1]] == "" {
				all = append(all, word[1])
				found[word[1]] = "docs/operations.md"
			}
		}
	}
	if len(all) < 25 {
		t.Fatalf("only %d health reasons were found", len(all))
	}
	return all
}

func collectReasons(text, path string, found map[string]string) {
	for _, re := range reasonsIn {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			switch reason := m[1]; {
			case !strings.Contains(re.String(), "Health = "):
				found[reason] = path
			case strings.HasPrefix(path, "internal/accumulator/") && !slices.Contains(healthy, reason):
				found["accumulator_"+reason] = path
			}
		}
	}
	for _, f := range returned.FindAllString(text, -1) {
		for _, m := range regexp.MustCompile(`return "(\w+)"`).FindAllStringSubmatch(f, -1) {
			found[m[1]] = path
		}
	}
}

// healthy are the states of an accumulator that are no fault, or an operator's wish.
var healthy = []string{"live", "socket_only", "ended", "stopped"}
