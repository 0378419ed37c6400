package contexts

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// desk is a terminal of one who has a home.
func desk(t *testing.T, env ...string) *terminal.Terminal {
	t.Helper()
	all := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		all[name] = value
	}
	return terminal.New(strings.NewReader("gd_in\n"), io.Discard, io.Discard, func(n string) string { return all[n] })
}

func keep(t *testing.T, at *terminal.Terminal, f *File) {
	t.Helper()
	f.path = Path(at.Getenv)
	if err := f.Write(); err != nil {
		t.Fatal(err)
	}
}

// TestDaemon: what is given goes before the context, and a token goes to no other server than its own.
func TestDaemon(t *testing.T) {
	t.Parallel()
	files := Files{"/ca", "/cert", "/key"}
	file := func() *File {
		return &File{Current: "prod", Contexts: map[string]Context{
			"prod": {"https://prod.example", "acme", "gd_prod", files}, "lab": {Server: "lab:8080", Token: "gd_lab"},
		}}
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("gd_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		env   []string
		given Given
		want  Context
	}{
		{"the one in use", nil, Given{}, Context{"https://prod.example", "acme", "gd_prod", files}},
		{"another", []string{"GRAPHD_CONTEXT=lab"}, Given{}, Context{"http://lab:8080", "", "gd_lab", Files{}}},
		{"none", []string{"GRAPHD_CONTEXT=none"}, Given{}, Context{"http://127.0.0.1:8080", "", "", Files{}}},
		{"another server", nil, Given{Server: "evil.example:80"}, Context{"http://evil.example:80", "", "", Files{}}},
		{"its server without TLS", nil, Given{Server: "http://prod.example"},
			Context{"http://prod.example", "", "", Files{}}},
		{"its server by name", nil, Given{Server: "https://prod.example/"},
			Context{"https://prod.example", "acme", "gd_prod", files}},
		{"another tenant", nil, Given{Tenant: "b"}, Context{"https://prod.example", "b", "gd_prod", files}},
		{"a token of the environment", []string{"GRAPHD_TOKEN=gd_env"}, Given{},
			Context{"https://prod.example", "acme", "gd_env", files}},
		{"a token of a file", []string{"GRAPHD_TOKEN=gd_env"}, Given{TokenFile: tokenFile},
			Context{"https://prod.example", "acme", "gd_file", files}},
		{"another authority", nil, Given{Files: Files{CA: "/other"}},
			Context{"https://prod.example", "acme", "gd_prod", Files{"/other", "/cert", "/key"}}},
		{"its server over a socket", nil, Given{Server: "wss://prod.example"},
			Context{"https://prod.example", "acme", "gd_prod", files}},
		{"a token of standard input", nil, Given{TokenFile: "-"},
			Context{"https://prod.example", "acme", "gd_in", files}},
	}
	for _, tt := range tests {
		at := desk(t, tt.env...)
		keep(t, at, file())
		got, err := Daemon(at, tt.given, "http://127.0.0.1:8080")
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
	if _, err := Daemon(desk(t, "GRAPHD_CONTEXT=gone"), Given{}, "x"); err == nil {
		t.Error("a context that is not there is taken for none")
	}
	if got, err := Daemon(desk(t), Given{}, ":1"); err != nil || got.Server != "http://127.0.0.1:1" {
		t.Errorf("without contexts: %+v, %v", got, err)
	}
}

// TestFile: what is kept is its owner's alone, and a file that others can read is refused in words
// that hold no token.
func TestFile(t *testing.T) {
	t.Parallel()
	at := desk(t)
	keep(t, at, &File{Contexts: map[string]Context{"a": {Server: "http://x", Token: "gd_secret"}}})
	path := Path(at.Getenv)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file has the mode %v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("its folder has the mode %v, %v", dir.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(at.Getenv); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("contexts: [gd_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(at.Getenv); err == nil || strings.Contains(err.Error(), "gd_secret") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestWriteToken: no token is made that could not be kept, and none is left where none was made.
func TestWriteToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "t")
	boom := errors.New("boom")
	if err := WriteToken(path, func() (string, error) { return "", boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if err := WriteToken(path, func() (string, error) { return "gd_x", nil }); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "gd_x\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	err := WriteToken(path, func() (string, error) { t.Error("made although it cannot be kept"); return "", nil })
	if e, ok := errors.AsType[*terminal.ExitError](err); !ok || e.Code != terminal.ExitConflict {
		t.Errorf("got %v", err)
	}
}
