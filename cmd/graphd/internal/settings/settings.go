// Package settings is what the flags of a command can be given by beside the command line: variables of
// the environment, and a YAML file with a key for each flag. Begin with Fill, which a daemon's start
// does, and Read, which finds every mistake of a file.
package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/policy"
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

// Given is where the flags of a command were given, and what could not be read of it.
type Given struct {
	file *File
	from map[string]string // by flag, the flag or the variable that gave it
	// Mistakes are those of form; what values mean is for others to judge.
	Mistakes []Mistake
	// Files are those from which something secret was read.
	Files []string
}

// At is a mistake about what was given for a flag, or was not, at its place; see [File.At].
func (g *Given) At(flag, part, severity, code, detail string) Mistake {
	if from := g.from[flag]; from != "" || !g.file.Has(flag) {
		return Mistake{File: Or(from, "--"+flag), Severity: severity, Code: code, Setting: Key(flag), Part: part,
			Detail: detail}
	}
	return g.file.At(flag, part, severity, code, detail)
}

// Wrong are mistakes as an error, a line each.
type Wrong []Mistake

func (w Wrong) Error() string {
	lines := make([]string, len(w))
	for i := range w {
		lines[i] = w[i].String()
	}
	return strings.Join(lines, "\n")
}

// Fill fills in the flags that were not given: from the environment, else from the file that the flag
// config, or GRAPHD_CONFIG, names.
func Fill(flags *pflag.FlagSet, getenv func(string) string) error {
	g, err := Gather(flags, getenv)
	if err == nil && len(g.Mistakes) > 0 {
		err = Refuse(g.Mistakes)
	}
	return err
}

// Refuse is the error of a configuration with mistakes.
func Refuse(mistakes []Mistake) error {
	return &terminal.ExitError{Code: terminal.ExitFormat, Err: Wrong(mistakes), Mistakes: mistakes}
}

// Gather is Fill for who says what else is wrong together with what could not be read. The error is of a file that
// cannot be read at all.
func Gather(flags *pflag.FlagSet, getenv func(string) string) (*Given, error) {
	g := &Given{file: &File{}, from: map[string]string{}}
	named := flags.Lookup(ConfigFlag)
	if !named.Changed {
		if err := named.Value.Set(getenv(Env(ConfigFlag))); err != nil {
			return g, err
		}
	}
	if path := named.Value.String(); path != "" {
		var err error
		if g.file, err = ReadFile(path, flags); err != nil {
			return g, terminal.Exit(terminal.ExitFormat, err)
		}
	}
	g.Mistakes = g.file.Mistakes
	flags.VisitAll(func(f *pflag.Flag) {
		if !In(f) {
			return
		}
		before := len(g.Mistakes)
		if text := getenv(Env(f.Name)); f.Changed {
			g.from[f.Name] = "--" + f.Name
		} else if text != "" {
			g.from[f.Name] = Env(f.Name)
			for _, one := range members(f, text) {
				if err := f.Value.Set(one); err != nil {
					g.Mistakes = append(g.Mistakes, g.At(f.Name, "", Error, codeOf(err), misfit(f, text, err)))
				}
			}
		} else {
			g.Mistakes = append(g.Mistakes, g.file.set(f)...)
		}
		if g.from[f.Name] != "" && len(g.Mistakes) == before && isNought(f) {
			g.Mistakes = append(g.Mistakes, g.At(f.Name, "", Error, CodeInvalid, nought(f)))
		}
		if f.Name == storeFlag {
			if path, ok := InFile(f.Value.String()); ok {
				g.Files = append(g.Files, path)
			}
			if err := resolveStore(f); err != nil {
				g.Mistakes = append(g.Mistakes, g.At(f.Name, "", Error, CodeInvalid, err.Error()))
			}
		}
	})
	return g, nil
}

// storeFlag is the flag of the store's address, which may stand in a file of its own: it may have a password.
const storeFlag = "store"

// InFile is the path of the file in which an address stands.
func InFile(address string) (path string, ok bool) { return strings.CutPrefix(address, "file:") }

// maxAddress bounds the file of an address.
const maxAddress = 64 << 10

// resolveStore reads the address of the store from the file that the flag names instead.
func resolveStore(f *pflag.Flag) error {
	path, ok := InFile(f.Value.String())
	if !ok {
		return nil
	}
	text, err := (*policy.Policy)(nil).Read(path, maxAddress)
	if err != nil {
		return fmt.Errorf("store: its address cannot be read: %w; write file: and the path of a file with it", err)
	}
	if _, again := InFile(strings.TrimSpace(string(text))); again || len(strings.TrimSpace(string(text))) == 0 {
		return errors.New("store: the file of its address holds none; write postgres://USER@HOST/DATABASE into it")
	}
	return f.Value.Set(strings.TrimSpace(string(text)))
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
