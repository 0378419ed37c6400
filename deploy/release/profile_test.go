package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The profile that releases are built with is of this source: of its samples in graphd, a tenth at most are in
// functions that are no longer there. `make pgo` makes it anew.
func TestProfileIsOfThisSource(t *testing.T) {
	t.Chdir("../..")
	said, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0", profile).Output()
	if err != nil {
		t.Fatalf("read the profile: %v", err)
	}
	there, gone := 0.0, 0.0
	for line := range strings.Lines(string(said)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[5], ourPath) {
			continue
		}
		share, err := strconv.ParseFloat(strings.TrimSuffix(fields[1], "%"), 64)
		switch {
		case err != nil:
			t.Fatalf("%q: %v", line, err)
		case declared(t, fields[5]):
			there += share
		default:
			gone += share
			t.Logf("%s is gone, with %g %% of the samples", fields[5], share)
		}
	}
	if there < 10 || gone > (there+gone)/10 {
		t.Errorf("%.1f %% of the samples are in functions of graphd, %.1f %% in some that are gone: make pgo",
			there, gone)
	}
}

// What is made for users is made with the profile.
func TestProfileIsUsed(t *testing.T) {
	t.Chdir("../..")
	for name, want := range map[string]string{
		"Dockerfile": " -pgo=" + profile + " ", "Makefile": "PGO     ?= " + profile + "\n",
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is without %q", name, want)
		}
	}
}

const ourPath = "github.com/graphd/graphd"

var (
	closure  = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|-fm|-range\d+|\.\d+)+$`)
	generics = regexp.MustCompile(`\[.*\]`)
)

// declared reports whether the source has a function that a profile names as package.function or
// package.(*Type).method, closures being parts of the function that they stand in.
func declared(t *testing.T, name string) bool {
	name = closure.ReplaceAllString(generics.ReplaceAllString(strings.TrimPrefix(name, ourPath), ""), "")
	slash := strings.LastIndexByte(name, '/') + 1
	dir, rest, _ := strings.Cut(name[slash:], ".")
	files, err := filepath.Glob(filepath.Join(".", name[:slash], dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(rest, ".")
	// What is inlined into a method's closure has the names of both; the first is enough then.
	function := parts[0]
	if strings.HasPrefix(function, "(") && len(parts) > 1 {
		function = parts[1]
	}
	method := parts[min(1, len(parts)-1)]
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{function, method} {
			if regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + regexp.QuoteMeta(n) + `[(\[]`).Match(text) {
				return true
			}
		}
	}
	return false
}
