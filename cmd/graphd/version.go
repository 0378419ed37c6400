package main

import (
	"runtime/debug"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

// release is the version that a build from an exported tree is told by the linker
// (-X main.release=v1.2.3): such a tree has no history that the version could come from.
var release string

// version is what the binary was made of.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
}

// readVersion takes the version from what the linker recorded.
func readVersion(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: info.GoVersion}
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "devel"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}

// buildVersion is the running binary's.
func buildVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok { // not built from a module
		return version{Version: "unknown"}
	}
	v := readVersion(info)
	if release != "" {
		v.Version = release
	}
	return v
}

func versionCmd(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what this binary was made of",
		Args:  terminal.Positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			v := buildVersion()
			return t.Print(v, func() error { return t.Line("%s", v) })
		},
	}
}

// String is the version on one line.
func (v version) String() string {
	s := "graphd " + v.Version
	if v.Commit != "" {
		s += " (" + v.Commit[:min(12, len(v.Commit))]
		if v.Dirty {
			s += ", changed"
		}
		s += ")"
	}
	return s + " " + v.Go
}
