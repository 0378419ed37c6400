package house

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers puts every package of the module on its layer. A package imports packages of
// lower layers only; what is private to a package (its own sub-packages) stands beside it. The
// longest path that fits counts.
var layers = []struct {
	layer int
	path  string // exact, or a prefix when it ends in "/"
}{
	{-1, "api"}, {-1, "docs"}, {-1, "migrations"}, // documents, embedded
	{-1, "internal/testbed/server"}, {0, "internal/testbed"}, // servers for tests, know nothing of graphd
	{-1, "internal/api"},

	{0, "internal/boundary"}, {0, "internal/spec"}, {0, "internal/outbound"}, {0, "internal/failpoint"},
	{0, "examples"},
	{1, "internal/kind"}, {1, "internal/expression"}, {1, "internal/checkpoint"},
	{2, "internal/graph"}, {2, "internal/accumulator"}, {2, "internal/sink"}, {2, "internal/dal/rules"},
	{3, "internal/accumulator/pump"}, {3, "internal/reactor"}, {3, "internal/kafkanet"}, {3, "internal/registered"},
	{3, "internal/dal/sqlite"}, {3, "internal/dal/postgres"}, {3, "internal/dal/memory"},
	{4, "internal/live"}, {4, "internal/compile"}, {4, "internal/source/"}, {4, "internal/sink/"}, {4, "internal/dal"},
	{4, "internal/supervisor"},
	{5, "internal/builtin"}, {5, "internal/virtual"}, {5, "internal/lease"}, {5, "internal/watch"},
	{5, "internal/feed"},
	{6, "internal/graphrun"}, {6, "internal/job"}, {6, "internal/scenario"},
	{7, "internal/engine"},
	{8, "internal/server"}, {8, "internal/client"}, {8, "internal/telemetry"},
	{9, ""},
	{10, "cmd/graphd"}, {10, "test/"}, {10, "bench"}, {10, "internal/faults"}, {10, "internal/differential"},
	{10, "examples/embedded"},
}

// unknown is the layer of what is not in the table.
const unknown = -2

// TestLayers holds the order of the house: every package stands on a layer, and imports only
// what stands on a lower one.
func TestLayers(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, p := range packages(t) {
		layer, home := layerOf(p.dir)
		if layer == unknown {
			t.Errorf("%s stands on no layer: put it into the table of test/house/layers_test.go, and into that of "+
				"AGENTS.md", p.name())
			continue
		}
		testSupport := strings.HasSuffix(p.dir, "test")
		for _, imported := range p.imports(false) {
			own, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			l, h := layerOf(strings.TrimPrefix(own, "/"))
			if l > layer || l == layer && h != home && !testSupport {
				t.Errorf("%s (layer %d) imports %s (layer %d): let it ask for what it needs by an interface of its "+
					"own, or move one of them",
					p.name(), layer, imported, l)
			}
		}
	}
}

// TestTableHasNoGhosts: what the table lists is there.
func TestTableHasNoGhosts(t *testing.T) {
	atRoot(t)
	t.Parallel()
	all := packages(t)
	for _, l := range layers {
		there := slices.ContainsFunc(all, func(p *pkg) bool {
			return p.dir == l.path || strings.HasPrefix(p.dir, strings.TrimSuffix(l.path, "/")+"/")
		})
		if !there {
			t.Errorf("the table lists %q, and there is no such package", l.path)
		}
	}
}

// layerOf is a package's layer, and the package it is private to: itself, or the one whose
// folder it stands in.
func layerOf(path string) (layer int, home string) {
	layer, best := unknown, -1
	for _, l := range layers {
		if len(l.path) <= best {
			continue
		}
		switch {
		case path == l.path, strings.HasSuffix(l.path, "/") && strings.HasPrefix(path, l.path):
			layer, home, best = l.layer, path, len(l.path)
		case l.path != "" && strings.HasPrefix(path, l.path+"/"):
			layer, home, best = l.layer, l.path, len(l.path)
		}
	}
	return layer, home
}

// TestLayersAreTold: AGENTS.md shows the table as it is, a row for each layer.
func TestLayersAreTold(t *testing.T) {
	atRoot(t)
	t.Parallel()
	text, err := os.ReadFile("AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			rows[strings.TrimSpace(cells[1])] = cells[2]
		}
	}
	for _, l := range layers {
		name := "`" + strings.TrimSuffix(l.path, "/") + "`"
		switch {
		case l.layer < 0:
			continue // what stands below all layers is told in a sentence
		case l.path == "":
			name = "`graphd`"
		case strings.HasSuffix(l.path, "/"):
			name = "`" + l.path + "*`"
		}
		if !strings.Contains(rows[strconv.Itoa(l.layer)], name) {
			t.Errorf("AGENTS.md does not show %s on layer %d", name, l.layer)
		}
	}
}
