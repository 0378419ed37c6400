package assembly

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/internal/document"
)

// write writes the tree of a declaration as one text. What it means is compared with the tree: comments can stand where
// YAML has no place for them, and are left out then.
func (w *Document) write(g *gatherer, own *source, includes bool) error {
	root := own.doc.Root
	clean(root, false)
	head := own.doc.Head
	if includes {
		head = strings.TrimLeft(head+"\n\n"+w.origin(own), "\n")
	}
	for _, comments := range []bool{true, false} {
		if !comments {
			clean(root, true)
		}
		text, err := encode(root, head)
		if err != nil {
			continue
		}
		if again := reread(text, root); again != nil {
			w.Text, w.spots = text, spots(root, again, own, g.owners)
			return nil
		}
	}
	at := decode.Diagnostic{File: own.name, Line: 1, Column: 1, Code: decode.CodeBadInclude,
		Text: "the declaration with what it includes and what is set cannot be written as one text; write as YAML " +
			"without tags what is in it"}
	return decode.Diagnostics{at}
}

// origin is the comment that names the files which a text was put together from, as seen from the declaration's folder.
func (w *Document) origin(own *source) string {
	names := make([]string, len(w.Files))
	for i, path := range w.Files {
		names[i] = path
		if below, err := filepath.Rel(filepath.Dir(own.path), path); err == nil {
			names[i] = filepath.ToSlash(below)
		}
	}
	return "# It includes " + strings.Join(names, ", ") + "."
}

// clean takes the anchors out of a tree, whose aliases are unfolded, and its comments where these are to go.
func clean(n *yaml.Node, comments bool) {
	n.Anchor = ""
	if comments {
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	}
	for _, c := range n.Content {
		clean(c, comments)
	}
}

// encode writes a tree.
func encode(root *yaml.Node, head string) (text []byte, err error) {
	defer func() { // the library has panics of its own for what it believes impossible
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err = e.Encode(&yaml.Node{Kind: yaml.DocumentNode, HeadComment: head, Content: []*yaml.Node{root}})
	return b.Bytes(), errors.Join(err, e.Close())
}

// reread is the document of a text when it means what a tree does, else nil. It may be longer than a declaration can
// be, which who reads it says.
func reread(text []byte, root *yaml.Node) *document.Document {
	again, problems := document.Load(text, len(text), decode.MaxDepth)
	if again == nil || len(problems) > 0 || !again.Whole() || !same(root, again.Root) {
		return nil
	}
	return again
}

var word = regexp.MustCompile(`^[A-Za-z]+$`)

// same reports whether two trees mean the same to the decoder: for that, whether a text stands in quotes is nothing but
// for references and numbers.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) || a.Value != b.Value || a.ShortTag() != b.ShortTag() {
		return false
	}
	if a.Kind == yaml.ScalarNode && (a.Style == 0) != (b.Style == 0) && !word.MatchString(a.Value) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
