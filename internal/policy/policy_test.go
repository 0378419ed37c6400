package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphd/graphd/internal/policy"
)

// place is a folder for declarations with the daemon's own beside and below it.
type place struct {
	dir, files string
	p          *policy.Policy
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	for _, d := range []string{"files/data/files", "files/graphs", "secrets/..data", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{
		"files/in.csv", "files/data/graphd.db", "files/data/files/own.csv", "files/store.db", "files/store.db-wal",
		"files/graphs/g.yaml", "elsewhere/x.csv", "secrets/..data/token", "secrets/large", "files/.bashrc",
	} {
		text := "x\r\n"
		if strings.HasSuffix(f, "large") {
			text = strings.Repeat("x", 64<<10+1)
		}
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"files/out": "../elsewhere", "files/out.csv": "../elsewhere/x.csv", "files/within.csv": "in.csv",
		"files/store": "data", "files/lost.csv": "data/new.csv", "secrets/token": "..data/token",
		"secrets/out": "../elsewhere/x.csv",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pipe := range []string{"files/pipe", "secrets/pipe", "elsewhere/pipe"} {
		if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return place{dir, files, &policy.Policy{
		Folders: []string{files, filepath.Join(files, "data", "files")},
		Closed: []string{
			filepath.Join(files, "data"), filepath.Join(files, "graphs"), filepath.Join(files, "store.db"),
		},
		Secrets: filepath.Join(dir, "secrets"),
		Variable: func(name string) (string, bool) {
			return "value of " + name, name != "GRAPHD_VAR_NONE"
		},
	}}
}

// What is not below the folder, or is the daemon's own, is denied by the check and where it is opened.
func TestFiles(t *testing.T) {
	t.Parallel()
	at := newPlace(t)
	for path, allowed := range map[string]bool{
		"files/in.csv": true, "files/new.csv": true, "files/a/b/c.csv": true, "files/within.csv": true,
		"files/data/files/own.csv": true, "files/data/../in.csv": true,
		"files": true, // that it is no file shows when it is opened

		"elsewhere/x.csv": false, "files/../elsewhere/x.csv": false, "files/out/x.csv": false, "files/out.csv": false,
		"files/data/graphd.db": false, "files/store/graphd.db": false, "files/data/new": false,
		"files/store.db": false, "files/store.db-wal": false, "files/STORE.db-wal": false, "files/graphs/g.yaml": false,
		"files/graphs/new.yaml": false, "files/lost.csv": false, "files/.bashrc": false, "files/.ssh/keys": false,
		"files/a/.git/hooks": false, "secrets/token": false, "filesbeside/x": false,
		"/proc/self/environ": false, "/dev/zero": false, "/etc/passwd": false,
	} {
		whole := path
		if !filepath.IsAbs(path) {
			whole = at.dir + "/" + path
		}
		checked := at.p.MayReach(whole)
		_, denied := errors.AsType[*policy.DeniedError](checked)
		if (checked == nil) != allowed || denied == allowed {
			t.Errorf("%s: got %v, want allowed=%v", path, checked, allowed)
		}
		if allowed {
			continue
		}
		if _, err := at.p.Open(whole); err == nil {
			t.Errorf("%s was opened", path)
		}
		if _, err := at.p.Append(whole, 0o600); err == nil {
			t.Errorf("%s was opened for appending", path)
		}
		if err := at.p.MakeFolders(filepath.Join(whole, "new"), 0o700); err == nil {
			t.Errorf("a folder was made in %s", path)
		}
	}
}

// A11: outside of the folders everything is denied in the same words, whether it is there or not, and whose it is.
func TestA11DenialsTellNothing(t *testing.T) {
	t.Parallel()
	at := newPlace(t)
	if err := os.Symlink("nowhere", filepath.Join(at.dir, "elsewhere", "lost")); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, path := range []string{
		"elsewhere/none", "elsewhere/x.csv", "elsewhere/lost", "elsewhere/x.csv/below", "none/at/all",
		"files/data", "files/data/none", "files/store.db", "secrets", "/etc/passwd",
	} {
		whole := path
		if !filepath.IsAbs(path) {
			whole = filepath.Join(at.dir, path)
		}
		if err := at.p.MayReach(whole); err == nil {
			t.Errorf("%s is allowed", path)
		} else {
			said[strings.ReplaceAll(err.Error(), whole+" ", "PATH ")] = path
		}
	}
	if len(said) != 1 {
		t.Errorf("denied in different words: %q", said)
	}
}

// A link that is turned out of the folder after the check leads nowhere.
func TestOpenChecksAgain(t *testing.T) {
	t.Parallel()
	at := newPlace(t)
	link := filepath.Join(at.files, "within.csv")
	if err := at.p.MayReach(link); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("/etc/passwd", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := at.p.Open(link); err == nil {
		t.Error("it was opened")
	}
}

// Pipes, devices and folders are told apart from files without waiting for anybody, for everyone.
func TestRegularOnly(t *testing.T) {
	t.Parallel()
	at := newPlace(t)
	var operator *policy.Policy
	for name, open := range map[string]func() (*os.File, error){
		"a pipe to read":                 func() (*os.File, error) { return at.p.Open(at.files + "/pipe") },
		"a pipe to write":                func() (*os.File, error) { return at.p.Append(at.files+"/pipe", 0o600) },
		"a folder":                       func() (*os.File, error) { return at.p.Append(at.files, 0o600) },
		"an operator's pipe to read":     func() (*os.File, error) { return operator.Open(at.files + "/pipe") },
		"an operator's device":           func() (*os.File, error) { return operator.Open("/dev/zero") },
		"an operator's folder":           func() (*os.File, error) { return operator.Open(at.files) },
		"a pipe of the operator, unread": func() (*os.File, error) { return operator.Append(at.files+"/pipe", 0o600) },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s was opened", name)
		} else if !errors.Is(err, policy.ErrNotRegular) && !errors.Is(err, syscall.ENXIO) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f, err := operator.Append("/dev/null", 0o600); err != nil {
		t.Errorf("the operator may write to a device: %v", err)
	} else {
		f.Close()
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	at := newPlace(t)
	for ref, want := range map[string]string{
		"GRAPHD_VAR_A": "value of GRAPHD_VAR_A", "GRAPHD_VAR_NONE": "unset",
		"PGPASSWORD": "denied", "GRAPHD_STORE": "denied",
		"file:token": "x", "file:" + at.dir + "/secrets/token": "x", "file:none": "unset",
		"file:../elsewhere/x.csv": "denied", "file:" + at.dir + "/elsewhere/x.csv": "denied",
		"file:/proc/self/environ": "denied", "file:/etc/shadow": "denied",
		"file:out": "failed", "file:pipe": "failed", "file:large": "failed", "file:.": "failed",
	} {
		value, ok, err := at.p.Resolve(ref)
		got := value
		if denied, is := errors.AsType[*policy.DeniedError](err); is && denied.Denied() != "" {
			got = "denied"
		} else if err != nil {
			got = "failed"
		} else if !ok {
			got = "unset"
		}
		if got != want {
			t.Errorf("%s: got %s (%v), want %s", ref, got, err, want)
		}
	}
}

// The operator's references read what they name, up to a bound and without waiting.
func TestReferencesOfTheOperator(t *testing.T) {
	at := newPlace(t)
	t.Setenv("POLICY_TEST", "v")
	var operator *policy.Policy
	for ref, want := range map[string]string{
		"POLICY_TEST": "v", "POLICY_TEST_NONE": "unset", "file:" + at.dir + "/elsewhere/x.csv": "x",
		"file:" + at.dir + "/none": "unset", "file:/dev/zero": "failed", "file:" + at.dir + "/elsewhere/pipe": "failed",
		"file:" + at.dir + "/secrets/large": "failed",
	} {
		value, ok, err := operator.Resolve(ref)
		got := value
		if err != nil {
			got = "failed"
		} else if !ok {
			got = "unset"
		}
		if got != want {
			t.Errorf("%s: got %s (%v), want %s", ref, got, err, want)
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	few := &policy.Policy{Kinds: []string{"source.file"}}
	for p, allowed := range map[*policy.Policy]bool{few: false, {}: true} {
		if err := p.MayUse("sink.postgres"); (err == nil) != allowed {
			t.Errorf("%v: got %v", p, err)
		}
	}
	if few.MayUse("source.file") != nil || (*policy.Policy)(nil).MayUse("sink.postgres") != nil {
		t.Error("what is allowed was denied")
	}
	if few.Validate([]string{"source.file"}) != nil || few.Validate([]string{"sink.file"}) == nil {
		t.Error("kinds are not checked against those there are")
	}
}
