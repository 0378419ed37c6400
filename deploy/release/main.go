package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	to := flag.String("to", filepath.Join("bin", "release"), "folder to write to, made anew")
	platforms := flag.String("for", "linux/amd64,linux/arm64,darwin/arm64", "platforms, with commas between them")
	dirty := flag.Bool("dirty", false, "also of a tree that has changes: nobody can make that again")
	flag.Parse()
	r := &release{to: *to}
	if err := r.make(strings.Split(*platforms, ","), *dirty); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one that is being made.
type release struct {
	to     string
	at     time.Time // of everything in it: the commit's
	common []entry   // what every archive has
	sums   strings.Builder
}

func (r *release) make(platforms []string, dirty bool) error {
	changes, err := output("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" && !dirty {
		return fmt.Errorf("the tree has changes: commit them, or say -dirty:\n%s", changes)
	}
	at, err := output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.at = time.Unix(seconds, 0).UTC()
	if err := errors.Join(os.RemoveAll(r.to), os.MkdirAll(r.to, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "graphd-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := r.gather(work); err != nil {
		return err
	}
	for _, platform := range platforms {
		if err := r.platform(work, platform); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return os.WriteFile(filepath.Join(r.to, "SHA256SUMS"), []byte(r.sums.String()), 0o644)
}

// gather reads what every archive has. Completions come from a binary for this machine.
func (r *release) gather(work string) error {
	here := filepath.Join(work, "graphd")
	if err := build(here, runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{name, 0o644, text})
	}
	for shell, name := range map[string]string{"bash": "graphd.bash", "zsh": "_graphd", "fish": "graphd.fish"} {
		text, err := output(here, "completion", shell)
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{"completions/" + name, 0o644, []byte(text + "\n")})
	}
	return nil
}

// platform makes one platform's archive and SBOM.
func (r *release) platform(work, platform string) error {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("write a platform as linux/amd64")
	}
	binary := filepath.Join(work, system+"-"+arch)
	if err := build(binary, system, arch); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	modules, err := modulesOf(info)
	if err != nil {
		return err
	}
	bytes, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	entries := append([]entry{{"graphd", 0o755, bytes}, {"THIRD_PARTY_LICENSES", 0o644, notices(modules)}}, r.common...)
	if system == "linux" {
		for _, name := range []string{"graphd.service", "graphd.yaml", "graphd.env"} {
			text, err := os.ReadFile(filepath.Join("deploy", "systemd", name))
			if err != nil {
				return err
			}
			entries = append(entries, entry{"systemd/" + name, 0o644, text})
		}
	}
	name := fmt.Sprintf("graphd-%s-%s-%s", info.Main.Version, system, arch)
	archive, err := pack(name, r.at, entries)
	if err != nil {
		return err
	}
	bill, err := sbom(info, modules, r.at, sha256.Sum256(bytes))
	if err != nil {
		return err
	}
	return errors.Join(r.write(name+".cdx.json", bill), r.write(name+".tar.gz", archive))
}

// write writes a file of the release, with its sum.
func (r *release) write(name string, data []byte) error {
	fmt.Fprintf(&r.sums, "%x  %s\n", sha256.Sum256(data), name)
	fmt.Fprintln(os.Stderr, filepath.Join(r.to, name), len(data), "bytes")
	return os.WriteFile(filepath.Join(r.to, name), data, 0o644)
}

// profile tells the compiler where the time goes; `make pgo` makes it.
const profile = "deploy/release/graphd.pgo"

// build builds the binary. Its version is what Go makes of the tags and the commit.
func build(to, system, arch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-mod=readonly", "-pgo="+profile,
		"-ldflags=-s -w -buildid=", "-o", to, "./cmd/graphd")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s/%s: %w\n%s", system, arch, err, said)
	}
	return nil
}

// output is what a command says.
func output(name string, args ...string) (string, error) {
	said, err := exec.Command(name, args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(said)), err
}
