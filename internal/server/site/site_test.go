package site

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graphd/graphd/web"
)

func get(t *testing.T, s *Site, name string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/page/"+name, nil)
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	if name == "" {
		s.Index(w, r, false, false)
	} else if !s.File(w, r, name) {
		t.Fatalf("there is no %s", name)
	}
	return w.Result()
}

func open(t *testing.T) *Site {
	t.Helper()
	s, err := New(web.Files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFilesAreServed: every file of the page comes packed and plain as the same, with what keeps a browser from running
// anything else, and not again where the browser has it.
func TestFilesAreServed(t *testing.T) {
	t.Parallel()
	s := open(t)
	names := []string{""}
	for name := range s.files {
		names = append(names, name)
	}
	if len(names) < 8 {
		t.Fatalf("only %q are there", names)
	}
	for _, name := range names {
		plain, packed := get(t, s, name), get(t, s, name, "Accept-Encoding: br, gzip;q=0.5")
		whole, _ := io.ReadAll(plain.Body)
		if packed.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(packed.Body)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(z); err != nil || string(text) != string(whole) {
				t.Errorf("%s: packed it is another: %v", name, err)
			}
		} else if len(whole) > 2000 {
			t.Errorf("%s: it has %d bytes and is not packed", name, len(whole))
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding",
			"Cache-Control": "no-cache", "Content-Security-Policy": policy} {
			if got := plain.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
		if again := get(t, s, name, `If-None-Match: "x", `+plain.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("%s: what the browser has is sent again: %d", name, again.StatusCode)
		}
		if other := get(t, s, name, `If-None-Match: "x"`); other.StatusCode != 200 {
			t.Errorf("%s: what the browser has not is not sent: %d", name, other.StatusCode)
		}
	}
	if got := get(t, s, "main.js", "Accept-Encoding: gzip;q=0"); got.Header.Get("Content-Encoding") != "" {
		t.Error("it is packed for one who cannot read that")
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if s.File(httptest.NewRecorder(), r, "../embed.go") {
		t.Error("a file that is none of the page's is served")
	}
}

// TestNothingInline: nothing of the page needs what the policy refuses, nor another host.
func TestNothingInline(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, bad := range []string{"'unsafe", "http", "data:", "*"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy has %s", bad)
		}
	}
	text, _ := io.ReadAll(get(t, s, "").Body)
	inline := regexp.MustCompile(`<style|style=|<script[^>]*>[^<]| on[a-z]+=`)
	if found := inline.FindString(string(text)); found != "" {
		t.Errorf("the index has %s", found)
	}
	for _, at := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		name, ok := strings.CutPrefix(at[1], "/page/")
		if !ok || s.files[name] == nil {
			t.Errorf("the index leads to %s", at[1])
		}
	}
	imports := regexp.MustCompile(`(?m)^(?:import|export) .*from "([^"]*)"`)
	for name := range s.files {
		if name == "vendor.js" || !strings.HasSuffix(name, ".js") {
			continue
		}
		text, _ := io.ReadAll(get(t, s, name).Body)
		for _, at := range imports.FindAllStringSubmatch(string(text), -1) {
			if module, ok := strings.CutPrefix(at[1], "./"); !ok || s.files[module] == nil {
				t.Errorf("%s imports %s, which is not there", name, at[1])
			}
		}
	}
}

// TestScriptIsSmall: all script of the page comes in 250 KiB.
func TestScriptIsSmall(t *testing.T) {
	t.Parallel()
	s := open(t)
	sum := 0
	for name := range s.files {
		if strings.HasSuffix(name, ".js") {
			body, _ := io.ReadAll(get(t, s, name, "Accept-Encoding: gzip").Body)
			sum += len(body)
		}
	}
	t.Logf("%d bytes", sum)
	if sum > 250<<10 || sum < 10<<10 {
		t.Errorf("the script of the page is %d bytes", sum)
	}
}

// TestPageIsTold: the page knows whether one can sign in at an issuer, and whether there is a session to leave.
func TestPageIsTold(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, issuer := range []bool{false, true} {
		for _, session := range []bool{false, true} {
			w := httptest.NewRecorder()
			s.Index(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), issuer, session)
			text := w.Body.String()
			if strings.Contains(text, "data-issuer") != issuer || strings.Contains(text, "data-session") != session {
				t.Errorf("issuer %t, session %t: the page is %.80s", issuer, session, text)
			}
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	one := &fstest.MapFile{Data: []byte("x")}
	if _, err := New(fstest.MapFS{"index.html": one, "app/a.js": one, "vendor/a.js": one}); err == nil {
		t.Error("two files of one name are taken")
	}
	if _, err := New(fstest.MapFS{"index.html": one}); err == nil {
		t.Error("a page without files is taken")
	}
}

// TestModulesAreAskedForAtOnce: the page names each module that it cannot do without, and none that it can.
func TestModulesAreAskedForAtOnce(t *testing.T) {
	t.Parallel()
	text, _ := io.ReadAll(get(t, open(t), "").Body)
	link := regexp.MustCompile(`<link rel="modulepreload" href="/page/([a-z]+\.js)">`)
	got := map[string]int{"main.js": 1}
	for _, n := range link.FindAllStringSubmatch(string(text), -1) {
		got[n[1]]++
	}
	entries, err := web.Files.ReadDir("app")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, want := e.Name(), 1
		if name == "docs.js" || name == "layout.js" || !strings.HasSuffix(name, ".js") {
			want = 0 // it is of another page, or of the worker
		}
		if got[name] != want {
			t.Errorf("%s is named %d times", name, got[name])
		}
	}
	if got["vendor.js"] != 1 {
		t.Errorf("vendor.js is named %d times", got["vendor.js"])
	}
}
