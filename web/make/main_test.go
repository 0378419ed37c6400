package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/web/make/npm"
)

// TestBundleIsMade: what is checked in is what the packages make, byte for byte.
func TestBundleIsMade(t *testing.T) {
	if testing.Short() {
		t.Skip("it fetches packages")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm: the bundle is not made anew")
	}
	const folder = "../vendor"
	made, err := build(t.Context(), folder)
	if errors.Is(err, npm.ErrAway) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its sources make: run `make web`", name)
		}
	}
}

// TestOtherBytesAreRefused: a package whose archive is not the one that is asked for is not taken.
func TestOtherBytesAreRefused(t *testing.T) {
	all, err := packages("../vendor/packages.txt")
	if err != nil || len(all) < 5 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	if testing.Short() {
		t.Skip("it fetches a package")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	p := all[0]
	p.Sum = strings.Repeat("0", 64)
	if _, err := npm.Fetch(t.Context(), p); err == nil || errors.Is(err, npm.ErrAway) {
		if err != nil {
			t.Skip(err)
		}
		t.Error("a package of another sum is taken")
	}
}
