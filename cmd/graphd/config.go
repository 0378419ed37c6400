package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// configFlag names the file that the other flags may stand in.
const configFlag = "config"

// fillIn fills in the flags that were not given: from the environment, else from the file
// that the flag config, or GRAPHD_CONFIG, names.
func fillIn(flags *pflag.FlagSet, getenv func(string) string) error {
	file := flags.Lookup(configFlag)
	if !file.Changed {
		if err := file.Value.Set(getenv(envName(configFlag))); err != nil {
			return err
		}
	}
	given, err := readConfig(file.Value.String(), flags)
	if err != nil {
		return terminal.Exit(terminal.ExitFormat, err)
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == configFlag || f.Name == "help" {
			return
		}
		if text := getenv(envName(f.Name)); text != "" {
			if err := f.Value.Set(text); err != nil {
				errs = append(errs, fmt.Errorf("%s=%s: %w", envName(f.Name), text, err))
			}
			return
		}
		for _, text := range given[f.Name] {
			if err := f.Value.Set(text); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", file.Value, keyName(f.Name), err))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return terminal.Exit(terminal.ExitFormat, err)
	}
	return nil
}

// readConfig reads a configuration file: a value, or a list of them, for each flag in it.
func readConfig(path string, flags *pflag.FlagSet) (map[string][]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	values := make(map[string][]string, len(doc))
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		node, ok := doc[keyName(f.Name)]
		if !ok || f.Name == configFlag || f.Name == "help" {
			return
		}
		delete(doc, keyName(f.Name))
		switch named := f.Value.Type() == "stringArray"; {
		case node.Kind == yaml.ScalarNode:
			values[f.Name] = []string{node.Value}
		case node.Kind == yaml.SequenceNode:
			for _, item := range node.Content {
				values[f.Name] = append(values[f.Name], item.Value)
			}
		case node.Kind == yaml.MappingNode && named: // NAME: ADDRESS, as NAME=ADDRESS
			for i := 0; i+1 < len(node.Content); i += 2 {
				values[f.Name] = append(values[f.Name], node.Content[i].Value+"="+node.Content[i+1].Value)
			}
		default:
			errs = append(errs, fmt.Errorf("%s:%d:%d: %s must be one value or a list", path, node.Line, node.Column,
				keyName(f.Name)))
		}
	})
	for key, node := range doc {
		errs = append(errs, fmt.Errorf("%s:%d: there is no setting %q; graphd serve --help lists them", path, node.Line,
			key))
	}
	return values, errors.Join(errs...)
}

// envName is a flag in the environment: "log-level" is GRAPHD_LOG_LEVEL.
func envName(flag string) string {
	return "GRAPHD_" + strings.ToUpper(keyName(flag))
}

// keyName is a flag in a file: "log-level" is log_level.
func keyName(flag string) string { return strings.ReplaceAll(flag, "-", "_") }
