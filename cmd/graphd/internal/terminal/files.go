package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/spf13/cobra"
)

// Files lets a verb take its files as arguments or with -f. The verb's work is given both.
func Files(cmd *cobra.Command, what string) (given func(args []string) []string) {
	var files []string
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, what)
	return func(args []string) []string { return append(slices.Clone(args), files...) }
}

// Declarations replaces folders by the declarations in them, by name; with deep also by those
// of the folders below. "-" is standard input.
func Declarations(files []string, deep bool) ([]string, error) {
	if len(files) == 0 {
		return nil, Exit(ExitUsage,
			errors.New("say which declaration: a file, a folder, or - for standard input, as an argument or with -f"))
	}
	var paths []string
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "-" || err == nil && !info.IsDir() {
			paths = append(paths, file)
			continue
		}
		if err != nil {
			return nil, Missing(err)
		}
		before := len(paths)
		err = filepath.WalkDir(file, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && path != file && (!deep || strings.HasPrefix(e.Name(), ".")):
				return fs.SkipDir
			case !e.IsDir() && isDeclaration(e.Name()):
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, Missing(err)
		}
		if len(paths) == before {
			return nil, Exit(ExitNotFound, fmt.Errorf("no declaration (*.yaml, *.yml or *.json) is in %s", file))
		}
	}
	return paths, nil
}

// Vars lets a verb set vars of declarations with --set. The answer says which, by name.
func Vars(cmd *cobra.Command) (set func() (map[string]string, error)) {
	var given []string
	cmd.Flags().StringArrayVar(&given, "set", nil, "NAME=VALUE: the value of a var that the declaration has")
	return func() (map[string]string, error) {
		values := make(map[string]string, len(given))
		for _, text := range given {
			name, value, ok := strings.Cut(text, "=")
			if _, twice := values[name]; twice {
				return nil, Exit(ExitUsage, fmt.Errorf("--set %s: %s is set twice", text, name))
			}
			if !ok || name == "" {
				return nil, Exit(ExitUsage, fmt.Errorf("--set %s: write NAME=VALUE", text))
			}
			values[name] = value
		}
		return values, nil
	}
}

// CannotSet gives a var that cannot be set the exit code of a wrong call. Other errors pass.
func CannotSet(path string, err error) error {
	if refused, ok := errors.AsType[*assembly.SetError](err); ok {
		return Exit(ExitUsage, fmt.Errorf("--set: %s: %w", path, refused))
	}
	return err
}

// One is the only declaration that files name.
func One(files []string) (string, error) {
	paths, err := Declarations(files, false)
	if err != nil {
		return "", err
	}
	if len(paths) > 1 {
		return "", Exit(ExitUsage, fmt.Errorf("one declaration is wanted, and these are %d: %s", len(paths),
			strings.Join(paths, ", ")))
	}
	return paths[0], nil
}

// isDeclaration tells declarations from their tests, from what they include and from other files.
func isDeclaration(name string) bool {
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	return slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && !strings.HasSuffix(base, "_test") &&
		!strings.HasSuffix(base, "_part")
}
