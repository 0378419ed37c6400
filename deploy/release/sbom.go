package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"time"
)

// The parts of CycloneDX 1.5 that are told: https://cyclonedx.org/docs/1.5/json.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
		Depends    []depends   `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		Purl       string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []licence  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	licence struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	depends struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// sbom lists what is in a binary, as the linker recorded it: what is only in go.mod is not in it.
func sbom(info *buildinfo.BuildInfo, modules []module, at time.Time, sum [32]byte) ([]byte, error) {
	main := component{
		Ref: purl(info.Main.Path, info.Main.Version), Type: "application", Name: info.Main.Path,
		Version: info.Main.Version, Purl: purl(info.Main.Path, info.Main.Version),
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}, Licenses: licences("Apache-2.0"),
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "vcs.revision", "vcs.time", "vcs.modified":
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	std := component{
		Ref: purl("std", info.GoVersion), Type: "library", Name: "std", Version: info.GoVersion,
		Purl: purl("std", info.GoVersion), Licenses: licences("BSD-3-Clause"),
	}
	b := bill{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata:   metadata{at.Format(time.RFC3339), main},
		Components: []component{std}, Depends: []depends{{main.Ref, []string{std.Ref}}},
	}
	for _, m := range modules {
		c := component{
			Ref: purl(m.path, m.version), Type: "library", Name: m.path, Version: m.version,
			Purl: purl(m.path, m.version), Licenses: licences(m.licences...),
		}
		if m.sum != "" {
			c.Properties = []property{{"go:sum", m.sum}}
		}
		b.Components = append(b.Components, c)
		b.Depends[0].On = append(b.Depends[0].On, c.Ref)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licences(names ...string) (all []licence) {
	for _, name := range names {
		var l licence
		l.License.ID = name
		all = append(all, l)
	}
	return all
}
