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
	{-1, "api"}, {-1, "docs"}, {-1, "migrations"}, {-1, "web"}, // documents and the page, embedded
	{-1, "internal/testbed/server"}, {0, "internal/testbed"}, // servers for tests, know nothing of graphd
	{-1, "internal/api"},

	{0, "internal/boundary"}, {0, "internal/spec"}, {0, "internal/outbound"}, {0, "internal/failpoint"},
	{0, "internal/policy"}, {0, "internal/access"}, {0, "internal/audit"}, {0, "internal/rates"}, {0, "internal/quota"},
	{0, "internal/timeline"}, {0, "internal/rest"}, {0, "internal/reread"}, {0, "examples"},
	{1, "internal/expression"}, {1, "internal/checkpoint"}, {1, "internal/certificate"}, {1, "internal/issuer"},
	{1, "internal/trace"}, {1, "internal/includes"}, {1, "internal/eventschema"}, {1, "internal/refused"},
	{2, "internal/kind"}, {2, "internal/gate"}, {2, "internal/placement"}, {2, "internal/pushkey"},
	{2, "internal/folder"},
	{3, "internal/node/"}, {3, "internal/node/wasm"}, {3, "internal/graph"}, {3, "internal/accumulator"},
	{3, "internal/sink"}, {3, "internal/dal/rules"},
	{4, "internal/accumulator/pump"}, {4, "internal/reactor"}, {4, "internal/kafkanet"}, {4, "internal/registered"},
	{4, "internal/language"},
	{4, "internal/dal/sqlite"}, {4, "internal/dal/postgres"}, {4, "internal/dal/memory"},
	{5, "internal/live"}, {5, "internal/compile"}, {5, "internal/source/"}, {5, "internal/sink/"}, {5, "internal/dal"},
	{5, "internal/supervisor"},
	{6, "internal/builtin"}, {6, "internal/virtual"}, {6, "internal/lease"}, {6, "internal/watch"},
	{6, "internal/feed"}, {6, "internal/graphrun/told"}, {6, "internal/why"},
	{7, "internal/graphrun"}, {7, "internal/tenancy"}, {7, "internal/shard"}, {7, "internal/scenario"},
	{8, "internal/engine"}, {8, "internal/job"},
	{9, "internal/server"}, {9, "client"}, {9, "internal/telemetry"},
	{10, ""},
	{11, "cmd/graphd"}, {11, "test/"}, {11, "bench"}, {11, "internal/faults"}, {11, "internal/differential"},
	{11, "examples/embedded"}, {11, "examples/wasm/go"}, {11, "deploy/release"},
	{11, "deploy/monitoring"}, {11, "web/make"},
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
