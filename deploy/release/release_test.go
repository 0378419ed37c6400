package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is packed depends on names and contents alone, and has the commit's time.
func TestPackIsTheSame(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_780_000_000, 0).UTC()
	files := []entry{{"graphd", 0o755, []byte("binary")}, {"LICENSE", 0o644, []byte("text")}, {"a/b", 0o644, nil}}
	one, err := pack("graphd-v1", at, slices.Clone(files))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	two, err := pack("graphd-v1", at, files)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("the order of the files is in the archive, %v", err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	if !zip.ModTime.IsZero() || zip.Name != "" {
		t.Errorf("the archive tells when and from what it was packed: %+v", zip.Header)
	}
	var names []string
	for archive := tar.NewReader(zip); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
		if !head.ModTime.Equal(at) || head.Uid != 0 || head.Uname != "" {
			t.Errorf("%s has a time or an owner of the machine: %+v", head.Name, head)
		}
	}
	if want := []string{"graphd-v1/LICENSE", "graphd-v1/a/b", "graphd-v1/graphd"}; !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

// Every module of go.mod has a licence that a dependency may have.
func TestLicences(t *testing.T) {
	t.Chdir("../..")
	text, err := output("go", "mod", "edit", "-json")
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal([]byte(text), &mod); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range mod.Require {
		names = append(names, m.Path+"@"+m.Version)
	}
	dirs, err := folders(names)
	if err != nil {
		t.Skipf("not every module is in the cache, and they cannot be fetched: %v", err)
	}
	if len(dirs) < 40 {
		t.Errorf("only %d modules were found", len(dirs))
	}
	for path, dir := range dirs {
		m := module{path: path}
		if err := m.read(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Permission is hereby granted,\n free of charge, to any person obtaining a copy": "MIT",
		"Apache License\n\nVersion 2.0": "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE. Everyone is permitted to copy. Apache License, Version 2.0": "",
		"All rights reserved.": "",
	} {
		if got := identify(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// The SBOM lists what is in the binary, each with its version, sum and licence.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	modules := []module{{path: "example.com/m", version: "v1.2.3", sum: "h1:x=", licences: []string{"MIT"}}}
	text, err := sbom(info, modules, time.Unix(0, 0).UTC(), sha256.Sum256(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"bomFormat": "CycloneDX"`, `"timestamp": "1970-01-01T00:00:00Z"`, `"purl": "pkg:golang/example.com/m@v1.2.3"`,
		`"id": "MIT"`, `"value": "h1:x="`, `"purl": "pkg:golang/std@go1.`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// The binary has the notices of its modules: this test's own command is made as a release makes one.
func TestModulesOfABinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	t.Chdir("../..")
	binary := t.TempDir() + "/graphd"
	said, err := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/graphd").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := modulesOf(info)
	if err != nil {
		t.Skipf("not every module can be had: %v", err)
	}
	text := string(notices(modules))
	for _, want := range []string{"modernc.org/sqlite v", "(BSD-3-Clause", "github.com/jackc/pgx/v5 v", "(MIT)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the notices", want)
		}
	}
	if strings.Contains(text, "pgregory.net/rapid") {
		t.Error("the notices have what is only in tests")
	}
}
