package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// compare runs the workloads on files with graphd as it is here and as it was at another
// revision, in turn, and prints the ratios. Both must put out the same.
func compare(ctx context.Context, c *config, w io.Writer) error {
	then, err := buildAt(ctx, c, c.base)
	if err != nil {
		return err
	}
	binaries := []string{then, c.graphd}
	fmt.Fprintf(w, "\ncompared with %s\n", c.base)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tbase CPU-s/M\tnow CPU-s/M\tnow / base\tbase peak MiB\tnow peak MiB\t")
	for _, wl := range workloads() {
		f, err := wl.prepare(c.data, c.lines)
		if err != nil {
			return err
		}
		for _, encode := range []bool{false, true} {
			v := variant{name: wl.name + ", output dropped", encode: encode}
			output := "drop"
			if encode {
				v.name, output = wl.name+", output encoded", os.DevNull
			}
			samples := make([][]sample, len(binaries))
			for range c.runs {
				for i, path := range binaries {
					of := *c
					of.graphd = path
					s, err := v.once(ctx, &of, &wl, f, output)
					if err != nil {
						return err
					}
					samples[i] = append(samples[i], s)
				}
			}
			million := float64(f.events) / 1e6
			cpu := func(s sample) time.Duration { return s.cpu }
			rss := func(s sample) int64 { return s.rss }
			base, now := median(samples[0], cpu).Seconds(), median(samples[1], cpu).Seconds()
			fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.2f\t%.0f\t%.0f\t\n", v.name, base/million, now/million, now/base,
				float64(median(samples[0], rss))/(1<<20), float64(median(samples[1], rss))/(1<<20))
		}
	}
	return t.Flush()
}

// buildAt builds graphd as it was at a revision, in a work tree of its own that is removed again.
func buildAt(ctx context.Context, c *config, revision string) (string, error) {
	dir, err := os.MkdirTemp("", "graphd-base-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	path, err := filepath.Abs(filepath.Join(c.data, "graphd-base"))
	if err != nil {
		return "", fmt.Errorf("name the binary: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "git", "worktree", "add", "--detach", tree,
		revision).CombinedOutput(); err != nil {
		return "", fmt.Errorf("check out %s: %w\n%s", revision, err, out)
	}
	// Not with ctx: an interrupted run must not leave the work tree listed.
	defer func() { _ = exec.Command("git", "worktree", "remove", "--force", tree).Run() }()
	build := exec.CommandContext(ctx, "go", "build", "-pgo="+profileAt(tree, c.pgo), "-o", path, "./cmd/graphd")
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", revision, err, out)
	}
	return path, nil
}

// profileAt is what a revision is built with: the profile that it has, and none where it has none. One that lies
// elsewhere is for both revisions.
func profileAt(tree, pgo string) string {
	path := filepath.Join(tree, pgo)
	if _, err := os.Stat(path); pgo == "off" || filepath.IsAbs(pgo) {
		return pgo
	} else if err != nil {
		return "off"
	}
	return path
}
