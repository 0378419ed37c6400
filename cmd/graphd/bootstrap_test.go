package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphd/graphd"
)

// TestStoreAsTheDaemonFindsIt: what opens the store without a daemon finds it where the daemon would, by flags before
// the environment before the file.
func TestStoreAsTheDaemonFindsIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "graphd.yaml")
	text := []byte("data: /of/file\nlisten: 127.0.0.1:0\noidc_issuer: https://x\n")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]string{"GRAPHD_DATA": "/of/env"}
	for _, c := range []struct {
		args        []string
		env         map[string]string
		data, store string
		named       bool
	}{
		{data: "graphd-data"},
		{args: []string{"--data", "/of/flag"}, env: elsewhere, data: "/of/flag", named: true},
		{args: []string{"--config", file}, data: "/of/file", named: true},
		{args: []string{"--config", file}, env: elsewhere, data: "/of/env", named: true},
		{env: map[string]string{"GRAPHD_CONFIG": file}, data: "/of/file", named: true},
		{env: map[string]string{"GRAPHD_STORE": "sqlite:/of/env"}, data: "graphd-data", store: "sqlite:/of/env",
			named: true},
	} {
		cmd := migrateCmd(nil)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		var got graphd.Config
		named, err := storeSettings(cmd, func(name string) string { return c.env[name] }, &got)
		if err != nil || got.Data != c.data || got.Store != c.store || named != c.named {
			t.Errorf("%v %v: %s, %s, named %v, %v", c.args, c.env, got.Data, got.Store, named, err)
		}
	}
}
