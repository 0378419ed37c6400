package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// M33: a file of the graphs directory that is changed changes its graph; one that is broken,
// or whose graph cannot start, leaves it running, and the summary and a recovery event say
// why, until the file is fixed.
func TestM33BrokenFileKeepsTheGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "quotes.yaml")
	write := func(doc string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(quotes)
	d := startDaemon(t, graphd.Config{Store: "memory:", Graphs: dir})
	d.do("POST", "/v1/graphs/quotes/accumulators/model/events", `{"fair":5}`, 200, nil)
	type status struct {
		Health   string
		Revision int64
		Update   *struct {
			OK             bool
			Origin, Detail string
		} `json:"last_update"`
	}
	get := func() (s status) {
		d.do("GET", "/v1/graphs/quotes", "", 200, &s)
		return s
	}
	d.until("the graph is live", func() bool { return get().Health == "live" })
	for _, tc := range []struct{ doc, kind, says string }{
		{strings.Replace(quotes, "model.fair -", "modl.fair -", 1), "update_refused", "modl"},
		{strings.Replace(quotes, "websocket: {}", "file: { path: quotes.yaml/nowhere }", 1), "update_failed",
			"quotes.yaml/nowhere"},
	} {
		write(tc.doc)
		d.until(tc.kind, func() bool {
			s := get()
			return s.Update != nil && !s.Update.OK && strings.Contains(s.Update.Detail, tc.says)
		})
		d.until("the graph is live again", func() bool { return get().Health == "live" })
		if s := get(); s.Revision != 1 || s.Update.Origin != "file:"+path {
			t.Fatalf("%+v %+v", s, s.Update)
		}
		var events struct {
			Items []struct{ Kind, Reason string }
		}
		d.until("a recovery event tells of it", func() bool { // which is written when the summary shows it
			d.do("GET", "/v1/graphs/quotes/recovery-events", "", 200, &events)
			return len(events.Items) > 0 && events.Items[0].Kind == tc.kind &&
				strings.Contains(events.Items[0].Reason, tc.says)
		})
	}
	write(quotes)
	d.until("the fixed file is what runs", func() bool { return get().Update == nil })
	write(strings.Replace(quotes, "edge > 0", "edge > 1", 1))
	d.until("the changed file is applied", func() bool {
		s := get()
		return s.Revision == 2 && s.Update != nil && s.Update.OK
	})
	var st struct{ Cache map[string]struct{ Fair int } }
	d.do("GET", "/v1/graphs/quotes/state", "", 200, &st)
	if st.Cache["model"].Fair != 5 {
		t.Fatalf("state %+v", st)
	}
}
