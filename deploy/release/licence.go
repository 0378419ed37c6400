package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is one that the binary is made of.
type module struct {
	path, version, sum string
	licences           []string // SPDX names
	texts              []string // of its licences, in the order of their files
}

// known is a licence by its SPDX name, and what tells it: all of the words stand in its text.
type known struct {
	name  string
	words []string
}

// licencesKnown are those that a dependency may have, after those that it may not, which have no name. The first that
// fits counts.
func licencesKnown() []known {
	return []known{
		{"", []string{"gnu", "general public license", "everyone is permitted to copy"}},
		{"Apache-2.0", []string{"apache license", "version 2.0"}},
		{"MPL-2.0", []string{"mozilla public license", "2.0"}},
		{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
		{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
		{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
		{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose"}},
		{"CC0-1.0", []string{"cc0 1.0 universal"}},
		{"blessing", []string{"may you do good and not evil"}}, // SQLite's
	}
}

// identify names the licence that a text is of; "" is none that is known.
func identify(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, k := range licencesKnown() {
		if !slices.ContainsFunc(k.words, func(word string) bool { return !strings.Contains(text, word) }) {
			return k.name
		}
	}
	return ""
}

// modulesOf are the modules of a binary, with their licences. One without a known licence is an error.
func modulesOf(info *buildinfo.BuildInfo) (all []module, err error) {
	names := []string{}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s is replaced: a release is made of what is published", dep.Path)
		}
		all = append(all, module{path: dep.Path, version: dep.Version, sum: dep.Sum})
		names = append(names, dep.Path+"@"+dep.Version)
	}
	dirs, err := folders(names)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range all {
		m := &all[i]
		errs = append(errs, m.read(dirs[m.path]))
	}
	return all, errors.Join(errs...)
}

// folders are where modules, as PATH@VERSION, are in the module cache. What is missing is fetched.
func folders(names []string) (map[string]string, error) {
	said, err := output("go", append([]string{"mod", "download", "-json"}, names...)...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for all := json.NewDecoder(strings.NewReader(said)); ; {
		var m struct{ Path, Dir string }
		if err := all.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
}

// read finds the licences in a module's folder.
func (m *module) read(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	for _, file := range files {
		name := strings.ToUpper(file.Name())
		licence := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") ||
			strings.HasSuffix(name, "-LICENSE") || strings.HasPrefix(name, "NOTICE")
		if file.IsDir() || !licence {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, strings.TrimSpace(string(text)))
		if strings.HasPrefix(name, "NOTICE") {
			continue
		}
		if id := identify(string(text)); id != "" {
			m.licences = append(m.licences, id)
		} else if name == "LICENSE" || name == "COPYING" {
			return fmt.Errorf("%s: %s is of no licence that may be used: see identify in deploy/release", m.path,
				file.Name())
		}
	}
	if len(m.licences) == 0 {
		return fmt.Errorf("%s has no licence", m.path)
	}
	slices.Sort(m.licences)
	m.licences = slices.Compact(m.licences)
	return nil
}

// notices are the texts of all licences, as they ask to be handed on.
func notices(modules []module) []byte {
	var out bytes.Buffer
	out.WriteString("graphd is made of the following, under their own licences.\n")
	for _, m := range modules {
		fmt.Fprintf(&out, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("=", 80), m.path, m.version,
			strings.Join(m.licences, ", "), strings.Join(m.texts, "\n\n"))
	}
	return out.Bytes()
}
