package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Mistake is something in a configuration that is wrong, or, as a warning, hardly meant.
type Mistake struct {
	// File is where it stands: a file, a flag as --listen, or a variable as GRAPHD_LISTEN.
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"` // from 1; 0 is nowhere in particular
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Setting  string `json:"setting,omitempty"`
	// Part is which part of a setting that is a mapping, as acme.max_keys of tenants.
	Part   string `json:"part,omitempty"`
	Detail string `json:"detail"`
}

// The severities: with an error the daemon does not start.
const (
	Error   = "error"
	Warning = "warning"
)

// The codes, which docs/codes.md explains.
const (
	CodeNotYAML   = "not_yaml"
	CodeUnknown   = "unknown_setting"
	CodeTwice     = "duplicate_setting"
	CodeForm      = "setting_form"
	CodeInvalid   = "setting_invalid"
	CodeElsewhere = "setting_elsewhere"
	CodeUnlikely  = "setting_unlikely"
)

// String is the mistake on a line, as editors find its place.
func (m *Mistake) String() string {
	at := m.File
	if m.Line > 0 {
		at += ":" + strconv.Itoa(m.Line)
	}
	if m.Column > 0 {
		at += ":" + strconv.Itoa(m.Column)
	}
	if m.Severity == Warning {
		at += ": warning"
	}
	return at + ": " + m.Code + ": " + m.Detail
}

// File is a file of settings as far as it could be read.
type File struct {
	path     string
	keys     map[string]*yaml.Node // by flag
	parts    map[string]*yaml.Node // by flag and the way below it, as tenants.acme.max_keys
	values   map[string][]value    // by flag
	Mistakes []Mistake
}

// value is one of the values of a key.
type value struct {
	text string
	at   *yaml.Node
	part string // of what is a mapping of mappings, the way to it: acme.max_keys
}

// ReadFile reads the file at path.
func ReadFile(path string, flags *pflag.FlagSet) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return Read(path, text, flags), nil
}

// Read reads a file's text: a value, a list or a mapping for each flag in it. It finds every mistake of
// form; what values mean is found when they are set.
func Read(path string, text []byte, flags *pflag.FlagSet) *File {
	f := &File{path: path, keys: map[string]*yaml.Node{}, parts: map[string]*yaml.Node{},
		values: map[string][]value{}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return f // nothing in it is nothing said
	}
	if err != nil {
		f.syntax(err)
		return f
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		f.add(&more, "", CodeForm, "one document is read, and there is another behind it")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return f
	}
	if root.Kind != yaml.MappingNode {
		f.add(root, "", CodeForm, "settings are written as KEY: VALUE")
		return f
	}
	known, names := map[string]*pflag.Flag{}, []string(nil)
	flags.VisitAll(func(flag *pflag.Flag) {
		if In(flag) {
			known[Key(flag.Name)] = flag
			names = append(names, Key(flag.Name))
		}
	})
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		flag, ok := known[key.Value]
		switch {
		case !ok:
			f.unknown(key, names)
		case f.keys[flag.Name] != nil:
			f.add(key, flag.Name, CodeTwice, fmt.Sprintf("%s stands in line %d already; leave one of them out",
				key.Value, f.keys[flag.Name].Line))
		default:
			f.keys[flag.Name] = key
			f.read(flag, resolve(node))
		}
	}
	return f
}

// resolve is the node that an alias stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// read takes the values of one key.
func (f *File) read(flag *pflag.Flag, node *yaml.Node) {
	if flag.Value.Type() == tenantsType {
		f.tenants(flag.Name, node)
		return
	}
	one := func(n *yaml.Node, text string) {
		f.values[flag.Name] = append(f.values[flag.Name], value{text: text, at: n})
	}
	list := flag.Value.Type() == "stringSlice" || flag.Value.Type() == "stringArray"
	named := flag.Value.Type() == "stringArray"
	wanted := "one value"
	switch {
	case named:
		wanted = "a mapping of names to addresses, or a list"
	case list:
		wanted = "one value or a list"
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		f.add(node, flag.Name, CodeForm, Key(flag.Name)+" has no value: write one, or leave the key out")
	case node.Kind == yaml.ScalarNode:
		one(node, node.Value)
	case node.Kind == yaml.SequenceNode && list:
		for _, item := range node.Content {
			if item = resolve(item); item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				f.add(item, flag.Name, CodeForm, Key(flag.Name)+" is a list of single values")
				continue
			}
			one(item, item.Value)
		}
	case node.Kind == yaml.MappingNode && named: // NAME: ADDRESS, as NAME=ADDRESS
		for i := 0; i+1 < len(node.Content); i += 2 {
			name, address := node.Content[i], resolve(node.Content[i+1])
			if address.Kind != yaml.ScalarNode || address.Tag == "!!null" {
				f.add(address, flag.Name, CodeForm, fmt.Sprintf("%s.%s must be an address", Key(flag.Name), name.Value))
				continue
			}
			one(name, name.Value+"="+address.Value)
		}
	default:
		f.add(node, flag.Name, CodeForm, Key(flag.Name)+" must be "+wanted)
	}
}

// unknown names the key that is most like one that is not there.
func (f *File) unknown(key *yaml.Node, names []string) {
	text := fmt.Sprintf("there is no setting %q", key.Value)
	word := strings.ToLower(strings.ReplaceAll(key.Value, "-", "_"))
	if near := terminal.Nearest(strings.TrimPrefix(word, "graphd_"), names); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += "; graphd config settings lists them"
	}
	f.add(key, "", CodeUnknown, text)
}

// placed is where yaml's errors name a line.
var placed = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// syntax is an error of YAML itself.
func (f *File) syntax(err error) {
	text := err.Error()
	m := Mistake{File: f.path, Severity: Error, Code: CodeNotYAML,
		Detail: "not YAML: " + strings.TrimPrefix(text, "yaml: ")}
	if at := placed.FindStringSubmatch(text); at != nil {
		m.Line, _ = strconv.Atoi(at[1]) // digits
		m.Detail = "not YAML: " + strings.TrimPrefix(text, at[0])
	}
	f.Mistakes = append(f.Mistakes, m)
}

func (f *File) add(at *yaml.Node, flag, code, detail string) { f.addPart(at, flag, "", code, detail) }

func (f *File) addPart(at *yaml.Node, flag, part, code, detail string) {
	m := Mistake{File: f.path, Line: at.Line, Column: at.Column, Severity: Error, Code: code, Part: part,
		Detail: detail}
	if flag != "" {
		m.Setting = Key(flag)
	}
	f.Mistakes = append(f.Mistakes, m)
}

// Set gives the flags what the file has for them, and tells what they do not take.
func (f *File) Set(flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) { f.Mistakes = append(f.Mistakes, f.set(flag)...) })
	store := flags.Lookup(storeFlag)
	if err := resolveStore(store); errors.Is(err, fs.ErrNotExist) {
		f.Mistakes = append(f.Mistakes, f.At(storeFlag, "", Warning, CodeElsewhere,
			"not on this machine: "+err.Error()))
		_ = store.Value.Set("") // a text takes every value
	} else if err != nil {
		f.Mistakes = append(f.Mistakes, f.At(storeFlag, "", Error, CodeInvalid, err.Error()))
		_ = store.Value.Set("")
	}
}

func (f *File) set(flag *pflag.Flag) (mistakes []Mistake) {
	wrong := func(v value, code, detail string) {
		mistakes = append(mistakes, Mistake{File: f.path, Line: v.at.Line, Column: v.at.Column, Severity: Error,
			Code: code, Setting: Key(flag.Name), Part: v.part, Detail: detail})
	}
	for _, v := range f.values[flag.Name] {
		if err := flag.Value.Set(v.text); err != nil {
			wrong(v, codeOf(err), misfit(flag, v.text, err))
		} else if isNought(flag) {
			wrong(v, CodeInvalid, nought(flag))
		}
	}
	return mistakes
}

// misfit says that a flag does not take a text.
func misfit(flag *pflag.Flag, text string, err error) string {
	if flag.Value.Type() == tenantsType {
		return Key(flag.Name) + ": " + err.Error()
	}
	return fmt.Sprintf("%s must be %s, and is %q", Key(flag.Name), wanted(flag), text)
}

// wanted is what a value of the flag has to be.
func wanted(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 500ms, 5s or 2m"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	}
	return "a list of texts with commas between them"
}

// inFile says that the file names another one for the value of a flag.
func (f *File) inFile(flag string) bool {
	for _, v := range f.values[flag] {
		if _, ok := InFile(v.text); ok {
			return true
		}
	}
	return false
}

// Has says whether the file says something for a flag.
func (f *File) Has(flag string) bool { return f.keys[flag] != nil }

// At is a mistake about what the file says for a flag, or leaves unsaid. part is a place below it, or as near to that
// as the file comes: "acme.max_keys" of tenants.
func (f *File) At(flag, part, severity, code, detail string) Mistake {
	m := Mistake{File: f.path, Severity: severity, Code: code, Setting: Key(flag), Part: part, Detail: detail}
	node := f.keys[flag]
	for way := part; way != ""; {
		if below := f.parts[flag+"."+way]; below != nil {
			node = below
			break
		}
		up := strings.LastIndexByte(way, '.')
		way = way[:max(0, up)]
	}
	if node != nil {
		m.Line, m.Column = node.Line, node.Column
	}
	return m
}
