package clients

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// roles are all that a token can have; "" is a daemon without tokens, on loopback.
var roles = []string{"", "viewer", "pusher", "operator", "author", "tenant-admin", "platform-admin"}

// TestSchemathesis: whatever is sent, every answer is one that the OpenAPI document has for it, of the media type and
// the shape that it says, and none is a failure of the daemon's; with tokens of each role, and without (A1, A7).
// GRAPHD_CASES is about how many cases there are in all; a few hundred without it, and always the same ones.
func TestSchemathesis(t *testing.T) {
	if testing.Short() {
		t.Skip("not a short test")
	}
	home, err := filepath.Abs(filepath.Join("testdata", "schemathesis"))
	if err != nil {
		t.Fatal(err)
	}
	interpreter := python(t, filepath.Join(home, "requirements.txt"))
	cases, seed := 0, "1"
	if text := os.Getenv("GRAPHD_CASES"); text != "" {
		if cases, err = strconv.Atoi(text); err != nil {
			t.Fatalf("GRAPHD_CASES: %v", err)
		}
		seed = strconv.FormatInt(time.Now().Unix(), 10)
	}
	if text := os.Getenv("GRAPHD_SEED"); text != "" {
		seed = text
	}
	total := 0
	for _, role := range roles {
		if only := os.Getenv("GRAPHD_ROLE"); only != "" && only != role {
			continue
		}
		t.Run("as "+cmp.Or(role, "nobody"), func(t *testing.T) {
			total += attack(t, interpreter, home, role, seed, cases/len(roles))
		})
	}
	t.Logf("%d cases in all, seed %s", total, seed)
}

const ticks = "graph: ticks\naccumulators: { quotes: { where: event.bid > 0 } }\n" +
	"nodes: { spread: { expr: quotes.ask - quotes.bid } }\noutputs: { spreads: { from: spread, sink: { drop: {} } } }\n"

var generated = regexp.MustCompile(`(?m)^ *(\d+) generated`)

// operations is about how many operations the document has.
const operations = 55

// attack has schemathesis make up cases for one role, and says how many.
func attack(t *testing.T, interpreter, home, role, seed string, cases int) int {
	t.Helper()
	var d *daemon
	args := []string{"-m", "schemathesis.cli", "--config-file", filepath.Join(home, "schemathesis.toml"), "run"}
	if role == "" {
		d = serve(t, "--store", "memory:")
		// The first token would end it: from then on everybody is asked for one.
		args = append(args, "--exclude-operation-id", "createToken", "--exclude-checks", "ignored_auth",
			"--generation-with-security-parameters", "false")
	} else {
		d = guarded(t)
	}
	d.do("PUT", "/v1/graphs/ticks", ticks, 201, nil)
	token := d.token
	if role != "" {
		token = d.create(role)
		args = append(args, "--header", "Authorization: Bearer "+token)
	}
	phases, each := "coverage,fuzzing", max(1, (cases-2500)/operations)
	switch {
	case cases == 0 && role != "" && role != "platform-admin": // every operation is seen with every role
		phases, each = "fuzzing", 2
	case cases == 0:
		phases, each = "fuzzing", 10
	}
	args = append(args, d.base+"/openapi.yaml", "--phases", phases, "--max-examples", strconv.Itoa(each),
		"--seed", seed, "--no-color", "--suppress-health-check", "all", "--request-timeout", "60")
	if cases == 0 {
		args = append(args, "--generation-deterministic")
	}
	t.Setenv("GRAPHD_TOKEN", token)
	t.Setenv("PYTHONPATH", home)
	out, err := run(t, 2*time.Hour, t.TempDir(), interpreter, args...)
	count := generated.FindStringSubmatch(out)
	if err != nil || count == nil {
		t.Errorf("schemathesis: %v\n%s", err, out)
		return 0
	}
	n, _ := strconv.Atoi(count[1])
	t.Logf("%d cases", n)
	return n
}
