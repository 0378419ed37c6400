// Package site serves the page: what package web holds, as a browser may keep it. All of it is public, for nothing of
// it is anybody's: what is shown comes over the API, to whoever may see it.
package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	apidoc "github.com/graphd/graphd/api"
	"github.com/graphd/graphd/docs"
)

// policy is what a browser lets the page do: run its own modules, and speak with the daemon that it came from.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kinds are the content types by the ends of names. A file of another kind is not served.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// Site is the page. It is safe for concurrent use.
type Site struct {
	files map[string]*file
	// index is the page itself, by whether one can sign in at an issuer and whether the browser has a session.
	index  [2][2]*file
	manual *manual
}

// file is one of the page, made ready when it is first asked for: most daemons are asked for none.
type file struct {
	kind string
	read func() ([]byte, error)
	once sync.Once
	made
}

type made struct {
	etag          string
	plain, packed []byte
	err           error
}

// New serves files: index.html at the root, and by its name each file of the folders app and vendor.
func New(files fs.FS) (*Site, error) {
	s := &Site{files: map[string]*file{}, manual: newManual(docs.All)}
	for i, issuer := range []string{"", "data-issuer "} {
		for k, session := range []string{"", "data-session "} {
			s.index[i][k] = &file{kind: kinds[".html"], read: func() ([]byte, error) {
				text, err := fs.ReadFile(files, "index.html")
				text = bytes.Replace(text, []byte("<html "), []byte("<html "+issuer+session), 1)
				return bytes.Replace(text, []byte("<script "), append(preloads(files), "<script "...), 1), err
			}}
		}
	}
	for _, dir := range []string{"app", "vendor"} {
		entries, err := fs.ReadDir(files, dir)
		if err != nil {
			return nil, fmt.Errorf("read the page's files: %w", err)
		}
		for _, e := range entries {
			kind, at := kinds[path.Ext(e.Name())], dir+"/"+e.Name()
			if kind == "" {
				continue
			}
			if s.files[e.Name()] != nil {
				return nil, fmt.Errorf("the page has two files of the name %s: give one of them another", e.Name())
			}
			s.files[e.Name()] = &file{kind: kind, read: func() ([]byte, error) { return fs.ReadFile(files, at) }}
		}
	}
	return s, nil
}

// imported finds the modules that one reads before it runs.
var imported = regexp.MustCompile(`(?m)^import .*?"\./([a-z]+\.js)"$`)

// preloads are links to the modules that main.js cannot do without, those that these read among them: a browser fetches
// them all at once, and not each when it has read who asks for it.
func preloads(files fs.FS) (links []byte) {
	known := []string{"main.js"}
	for i := 0; i < len(known); i++ {
		text, err := fs.ReadFile(files, "app/"+known[i])
		if err != nil {
			continue // it is not one of ours, or its own request says so
		}
		for _, m := range imported.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !slices.Contains(known, name) {
				known = append(known, name)
				links = append(links, `<link rel="modulepreload" href="/page/`+name+`">`+"\n"...)
			}
		}
	}
	return links
}

// Index answers with the page itself, whatever view of it is asked for. The page is told whether one can sign in at an
// issuer, and whether the browser has a session that can be left.
func (s *Site) Index(w http.ResponseWriter, r *http.Request, issuer, session bool) {
	of := s.index[0]
	if issuer {
		of = s.index[1]
	}
	if session {
		of[1].serve(w, r)
	} else {
		of[0].serve(w, r)
	}
}

// File answers with one of the page's files; false says that there is none of that name, and nothing is answered.
func (s *Site) File(w http.ResponseWriter, r *http.Request, name string) bool {
	f := s.files[name]
	if f == nil {
		return false
	}
	f.serve(w, r)
	return true
}

// OpenAPI answers with the document that describes the API.
func OpenAPI(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(apidoc.OpenAPI()) // a client that went away is no error of ours
}

// make reads the file, and packs it where that makes it smaller.
func (f *file) make() {
	if f.plain, f.err = f.read(); f.err != nil {
		return
	}
	sum := sha256.Sum256(f.plain)
	f.etag = `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(f.plain)
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil && b.Len() < len(f.plain) {
		f.packed = b.Bytes()
	}
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	f.once.Do(f.make)
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Add("Vary", "Accept-Encoding")
	if f.err != nil { // what is embedded can be read; a test says so
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
		return
	}
	// A browser asks each time whether what it has is still good, so that a daemon and its page are of one version.
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.etag)
	if matches(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.packed != nil && takesGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // a client that went away is no error of ours
}

// matches says whether a list of validators has the one there is; they are compared weakly.
func matches(list, etag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// takesGzip says whether a client reads what is packed.
func takesGzip(h http.Header) bool {
	for one := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return weight == "" || err == nil && q > 0
		}
	}
	return false
}
