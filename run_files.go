package graphd

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/source/file"
)

// RunProgress is how far a bounded run is.
type RunProgress struct {
	Events int64 // read so far
	// Read are the bytes read so far of Size, as they are on the disk; Size is 0 when it is not
	// known, as of a pipe.
	Read, Size int64
}

// RunDeadLetter is an event, or what was made of several, that a bounded run could not use.
type RunDeadLetter struct {
	Accumulator string `json:"accumulator,omitempty"` // "" for a node's own dead letters
	// File and Line say where the event stands, up to LastLine if there are several; Line is 0
	// when there is no such place.
	File     string    `json:"file,omitempty"`
	Line     int64     `json:"line,omitempty"`
	LastLine int64     `json:"last_line,omitempty"`
	At       time.Time `json:"at"` // by the run's clock
	Stage    string    `json:"stage"`
	Code     string    `json:"code"`
	Reason   string    `json:"reason"`
	// Epoch is the epoch that failed; 0 when it never came to one.
	Epoch  int64           `json:"epoch,omitempty"`
	Key    json.RawMessage `json:"key,omitempty"`
	Events int64           `json:"events"`
	// Payload is the event as it came, or the value made of several: as a text when it is not JSON.
	Payload json.RawMessage `json:"payload"`
}

func deadLetter(l *job.Letter, files map[string]string) RunDeadLetter {
	out := RunDeadLetter{
		Accumulator: l.Accumulator, File: files[l.Accumulator], Line: l.Line, At: l.At, Stage: l.Stage, Code: l.Code,
		Reason: l.Reason, Epoch: l.Epoch, Events: l.Events, Payload: l.Payload,
	}
	if l.LastLine > l.Line {
		out.LastLine = l.LastLine
	}
	if l.Key != "" {
		out.Key = json.RawMessage(l.Key)
	}
	if !json.Valid(l.Payload) {
		out.Payload, _ = json.Marshal(string(l.Payload)) // a text always has a form in JSON
	}
	return out
}

// runFiles are the files that a run reads.
type runFiles struct {
	files []*countedFile
	pipes []*file.Pipe
	size  int64
	piped bool // a part of unknown size
}

// runReader is an input of a run.
type runReader struct {
	*file.Reader
	pipe *file.Pipe // nil for a file, of which no read lasts
}

// Interrupt ends a reading that waits for more.
func (r *runReader) Interrupt() {
	if r.pipe != nil {
		r.pipe.Interrupt()
	}
}

// countedFile counts what is read of a file. Who asks is another goroutine than who reads.
type countedFile struct {
	io.Reader
	file *os.File // nil for standard input
	read atomic.Int64
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.read.Add(int64(n))
	return n, err
}

// open opens a file, or stdin for "-", unpacked when it is packed; pipe is what may have to be waited for.
func (r *runFiles) open(path string, stdin io.Reader) (src io.Reader, pipe *file.Pipe, err error) {
	f, waits := &countedFile{Reader: stdin}, true
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		f.Reader, f.file = opened, opened
		if info, err := opened.Stat(); err == nil && info.Mode().IsRegular() {
			r.size, waits = r.size+info.Size(), false
		}
	}
	if waits {
		pipe = file.NewPipe(f.Reader)
		f.Reader, r.piped, r.pipes = pipe, true, append(r.pipes, pipe)
	}
	r.files = append(r.files, f)
	src, err = file.Inflate(f)
	return src, pipe, err
}

// interrupt ends the readings that wait for more.
func (r *runFiles) interrupt() {
	for _, p := range r.pipes {
		p.Interrupt()
	}
}

// opened are the files, without standard input.
func (r *runFiles) opened() []*os.File {
	var files []*os.File
	for _, f := range r.files {
		if f.file != nil {
			files = append(files, f.file)
		}
	}
	return files
}

func (r *runFiles) close() {
	r.interrupt()
	for _, f := range r.opened() {
		_ = f.Close() // it was only read
	}
}

func (r *runFiles) progress(events int64) RunProgress {
	p := RunProgress{Events: events}
	for _, f := range r.files {
		p.Read += f.read.Load()
	}
	if !r.piped {
		p.Size = r.size
	}
	return p
}

// lineFormat is how a file's lines are read: by its extension, before that of a packed file.
func lineFormat(path string) string {
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".gz", ".gzip", ".zst", ".zstd":
		ext = strings.ToLower(filepath.Ext(path[:len(path)-len(ext)]))
	}
	if ext == ".csv" {
		return "csv"
	}
	return "ndjson"
}
