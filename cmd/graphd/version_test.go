package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{GoVersion: "go1.26.8"}, "graphd devel go1.26.8"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}}, "graphd v0.1.0 go1.26.8"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"},
			{Key: "vcs.time", Value: "2026-11-20T10:00:00Z"},
		}}, "graphd devel (0123456789ab, changed) go1.26.8"},
	} {
		if got := readVersion(&tc.info).String(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	r := command(t.Context(), newDaemon(t).Server, "", "version", "-o", "json")
	if r.code != 0 || !strings.Contains(r.stdout, `"go": "go`) {
		t.Errorf("got %+v", r)
	}
}
