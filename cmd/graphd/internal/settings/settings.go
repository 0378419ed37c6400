// Package settings is what the flags of a command can be given by beside the command line: variables of
// the environment, and a YAML file with a key for each flag. Begin with Fill, which a daemon's start
// does, and Read, which finds every mistake of a file.
package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/pflag"
)

// ConfigFlag names the file that the other flags may stand in.
const ConfigFlag = "config"

// Env is a flag in the environment: "log-level" is GRAPHD_LOG_LEVEL.
func Env(flag string) string { return "GRAPHD_" + strings.ToUpper(Key(flag)) }

// Key is a flag in a file: "log-level" is log_level.
func Key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// In says whether a flag can stand in the file.
func In(f *pflag.Flag) bool { return f.Name != ConfigFlag && f.Name != "help" }

// Fill fills in the flags that were not given: from the environment, else from the file that the flag
// config, or GRAPHD_CONFIG, names.
func Fill(flags *pflag.FlagSet, getenv func(string) string) error {
	named := flags.Lookup(ConfigFlag)
	if !named.Changed {
		if err := named.Value.Set(getenv(Env(ConfigFlag))); err != nil {
			return err
		}
	}
	file := &File{}
	if path := named.Value.String(); path != "" {
		var err error
		if file, err = ReadFile(path, flags); err != nil {
			return terminal.Exit(terminal.ExitFormat, err)
		}
	}
	errs := file.errors()
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || !In(f) {
			return
		}
		if text := getenv(Env(f.Name)); text != "" {
			for _, one := range members(f, text) {
				if err := f.Value.Set(one); err != nil {
					errs = append(errs, refused(f, text, err))
				}
			}
			return
		}
		for _, m := range file.set(f) {
			errs = append(errs, errors.New(m.String()))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return terminal.Exit(terminal.ExitFormat, err)
	}
	return nil
}

// members are what a variable gives a flag: of a list of names with what each is, a member on each line, for there
// may be commas in what a name is.
func members(f *pflag.Flag, text string) (all []string) {
	if t := f.Value.Type(); t != "stringArray" && t != tenantsType {
		return []string{text}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// refused tells of a variable that a flag does not take. What may be a secret is not told.
func refused(f *pflag.Flag, text string, err error) error {
	if f.Value.Type() == tenantsType {
		return fmt.Errorf("%s: %w", Env(f.Name), err)
	}
	return fmt.Errorf("%s=%s: %w", Env(f.Name), text, err)
}

// Setting is one that a file, the environment or the command line can give.
type Setting struct {
	Key     string `json:"key"`
	Flag    string `json:"flag"`
	Env     string `json:"env"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Meaning string `json:"meaning"`
}

// List is every setting, in the order of their names.
func List(flags *pflag.FlagSet) (all []Setting) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !In(f) {
			return
		}
		s := Setting{Key: Key(f.Name), Flag: "--" + f.Name, Env: Env(f.Name), Type: kind(f), Meaning: f.Usage}
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "0s" && f.DefValue != "0" {
			s.Default = f.DefValue
		}
		// Where nothing is the default of the flag, its words tell what nothing means.
		if words, told, ok := strings.Cut(s.Meaning, " (default "); ok && s.Default == "" {
			s.Meaning, s.Default = words, strings.TrimSuffix(told, ")")
		}
		all = append(all, s)
	})
	return all
}

// kind is what a value of the flag is, in the words of YAML.
func kind(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64", "float64":
		return "number"
	case "duration":
		return "duration"
	case "stringSlice":
		return "list"
	case "stringArray":
		return "mapping or list"
	case tenantsType:
		return "mapping"
	}
	return "text"
}
