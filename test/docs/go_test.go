package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goHead is what the Go blocks of the pages take as given.
const goHead = `package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

var (
	_        = errors.New
	_        = fmt.Sprint
	_        = http.NewServeMux
	_        = time.Second
	_        client.Client
	judge    graphd.NodeFunc
	visits   graphd.SourceFunc
	print    graphd.SinkFunc
	registry graphd.Registry
	document []byte
)
`

// goGiven are the parameters of the function that a block is put into, unless it declares functions itself. What it
// declares may take the place of them.
const goGiven = "ctx context.Context, t *testing.T, d *graphd.Daemon, c *client.Client"

var (
	topLevel = regexp.MustCompile(`(?m)^func (\w+)\(`)
	unused   = regexp.MustCompile(`declared and not used`)
)

// TestDocsGo: every Go block of the documentation compiles, but for what it declares for others to use.
func TestDocsGo(t *testing.T) {
	atRoot(t)
	t.Parallel()
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	add := func(name, text string) {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join("test", "docs", "blocks", name)] = at
	}
	blocks, declared := 0, ""
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.info != "go" {
				continue
			}
			blocks++
			where := fmt.Sprintf("//line %s:%d\n", p.path, b.line+1)
			if m := topLevel.FindString(b.text); m != "" {
				declared += where + b.text + "\n"
				continue
			}
			declared += fmt.Sprintf("func block%d(%s) error {\n{\n%s%s\n}\nreturn nil\n}\n", blocks, goGiven, where,
				b.text)
		}
	}
	if blocks < 5 {
		t.Errorf("only %d blocks were found", blocks)
	}
	add("blocks.go", goHead+declared)
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command("go", "build", "-gcflags=-e", "-overlay", list, "./test/docs/blocks").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !unused.MatchString(line) && !strings.HasPrefix(line, "#") {
			t.Error(strings.TrimSpace(line))
		}
	}
}
