package graphd

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/policy"
)

// mounted is a folder as Kubernetes mounts a ConfigMap or a Secret: each name is a link to ..data/NAME, and
// ..data a link to the folder of one version, which a rename replaces by that of another.
type mounted struct {
	dir     string
	version int
}

// swap replaces what is mounted as the kubelet does: the new version in a folder of its own, a new link beside
// ..data renamed over it, then the links of names that are new made and those of names that are gone removed.
func (m *mounted) swap(t *testing.T, files map[string]string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before := filepath.Join(m.dir, "..version"+strconv.Itoa(m.version))
	m.version++
	name := "..version" + strconv.Itoa(m.version)
	check(os.Mkdir(filepath.Join(m.dir, name), 0o755))
	for file, text := range files {
		check(os.WriteFile(filepath.Join(m.dir, name, file), []byte(text), 0o600))
	}
	check(os.Symlink(name, filepath.Join(m.dir, "..data_tmp")))
	check(os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")))
	for file := range files {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(m.dir, file)); !os.IsExist(err) {
			check(err)
		}
	}
	links, err := os.ReadDir(m.dir)
	check(err)
	for _, link := range links {
		if _, there := files[link.Name()]; !there && !strings.HasPrefix(link.Name(), "..") {
			check(os.Remove(filepath.Join(m.dir, link.Name())))
		}
	}
	check(os.RemoveAll(before))
}

func declared(graph, expr string) string {
	return "graph: " + graph + "\naccumulators: { ticks: {} }\nreactor: { strategy: sequential }\n" +
		"nodes: { out: { expr: " + expr + " } }\noutputs: { outs: { from: out, sink: { drop: {} } } }\n"
}

// A folder of declarations may be a mounted ConfigMap: a version that is swapped in is applied, what has not
// changed in it is left alone, and a declaration that it no longer has leaves its graph running.
func TestDeclarationsOfAConfigMap(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &mounted{dir: t.TempDir()}
	m.swap(t, map[string]string{"a.yaml": declared("a", "ticks.x"), "b.yaml": declared("b", "ticks.x")})
	var log bytes.Buffer
	d, err := New(ctx, Config{
		Store: "memory:", Listen: "127.0.0.1:0", Graphs: m.dir, Stdout: io.Discard,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.start(ctx); err != nil {
		t.Fatal(err)
	}
	serving, watching := make(chan error, 1), make(chan struct{})
	serving <- d.listener.Close()
	close(watching)
	t.Cleanup(func() {
		if err := d.stop(serving, watching, d.trail.Start()); err != nil {
			t.Error(err)
		}
	})
	including := "include: [factor_part.yaml]\n" + declared("d", "ticks.x * vars.factor")
	revisions := func() string {
		t.Helper()
		graphs, err := d.engine.Graphs(ctx, "default")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, g := range graphs.Items {
			all = append(all, g.Graph+strconv.Itoa(int(g.Revision)))
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		files map[string]string
		want  string
		said  string
	}{
		{nil, "a1 b1", "msg=applied"},
		{
			map[string]string{"a.yaml": declared("a", "ticks.y"), "b.yaml": declared("b", "ticks.x")}, "a2 b1",
			"graph=a revision=2",
		},
		{
			map[string]string{"a.yaml": declared("a", "ticks.y"), "c.yaml": declared("c", "ticks.x")}, "a2 b1 c1",
			"its graph goes on, and ends with 'graphd delete'",
		},
		{
			map[string]string{"a.yaml": "graph: a\nnodes: 7\n", "c.yaml": declared("c", "ticks.x")}, "a2 b1 c1",
			"a mistake",
		},
		{map[string]string{"b.yaml": declared("b", "ticks.z")}, "a2 b2 c1", "graph=b revision=2"},
		{
			map[string]string{"d.yaml": including, "factor_part.yaml": "vars: { factor: 1 }\n"}, "a2 b2 c1 d1",
			"graph=d revision=1",
		},
		{
			map[string]string{"d.yaml": including, "factor_part.yaml": "vars: { factor: 2 }\n"}, "a2 b2 c1 d2",
			"graph=d revision=2",
		},
		{
			map[string]string{"d.yaml": including, "factor_part.yaml": "\nvars: { factor: 2, d: '${' }\n"},
			"a2 b2 c1 d2",
			"factor_part.yaml:2:23: bad_reference",
		},
	} {
		if step.files != nil {
			log.Reset()
			m.swap(t, step.files)
			d.applyGraphs(ctx)
		}
		if got := revisions(); got != step.want || !strings.Contains(log.String(), step.said) {
			t.Errorf("graphs %s, want %s; %q is not in\n%s", got, step.want, step.said, log.String())
		}
		log.Reset()
		if d.applyGraphs(ctx); strings.Contains(log.String(), "msg=applied") {
			t.Errorf("applied again although nothing has changed:\n%s", log.String())
		}
	}
}

// So may folders of secrets, and the files of addresses.
func TestSecretsOfAMountedSecret(t *testing.T) {
	t.Parallel()
	m := &mounted{dir: t.TempDir()}
	p := &policy.Policy{Secrets: m.dir}
	for _, want := range []string{"one", "two"} {
		m.swap(t, map[string]string{"token": want + "\n", "events": "kafka://" + want + ":9092\n"})
		if got, ok, err := p.Resolve("file:token"); got != want || !ok || err != nil {
			t.Errorf("got %q, %v, %v, want %s", got, ok, err, want)
		}
		named, err := (&Config{Connections: []string{"events=file:" + filepath.Join(m.dir, "events")}}).connections()
		if err != nil || named["events"] != "kafka://"+want+":9092" {
			t.Errorf("got %q, %v", named["events"], err)
		}
	}
}
