package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/policy"
)

// Config says which file to read, and how.
type Config struct {
	Path string
	// Access opens the file; nil denies nothing.
	Access *policy.Policy
	ReaderConfig
	// Follow goes on reading as the file grows; without it the input ends with the file.
	Follow bool
	// OnTruncate is "halt" (also when empty) or "restart": what to do about a file that was
	// truncated, or replaced by another under the same name, while positions in it are kept.
	OnTruncate string
}

// Validate reports what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Path == "" {
		errs = append(errs, errors.New("path is missing: name the file to read"))
	}
	if err := c.check(); err != nil {
		errs = append(errs, err)
	}
	switch c.OnTruncate {
	case "", "halt", "restart":
	default:
		errs = append(errs, fmt.Errorf("on_truncate %q is not known: write halt or restart", c.OnTruncate))
	}
	return errors.Join(errs...)
}

// Source reads events from a file. It is an [accumulator.Source].
type Source struct {
	cfg  Config
	same [2]string // streams that are known to be of one file; see Behind
}

var (
	_ accumulator.Source   = (*Source)(nil)
	_ accumulator.Follower = (*Source)(nil)
	_ accumulator.Looker   = (*Source)(nil)
)

// New makes a Source. The file is opened by Run.
func New(cfg Config) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("file source: %w", err)
	}
	return &Source{cfg: cfg}, nil
}

// Follows implements [accumulator.Follower]: a file has an end.
func (s *Source) Follows() bool { return true }

// Looks implements [accumulator.Looker]: a file that is followed is looked at whenever that is asked for.
func (s *Source) Looks() bool { return s.cfg.Follow }

// Run implements [accumulator.Source]. Without follow, a file that is not there is an
// error; with it, the source waits for it.
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	t := &tail{cfg: &s.cfg, out: out, asker: accumulator.AskerOf(out), columns: newColumns(s.cfg.Schema)}
	defer t.close()
	err := t.run(ctx, from)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Batches are bounded in events and bytes: large enough that handing one over costs
// little per event, small enough that it waits for nothing.
const (
	batchEvents = 256
	batchBytes  = 64 << 10
)

// tail is one run of a Source over a file and, when following, its successors.
type tail struct {
	cfg     *Config
	out     accumulator.Out
	asker   accumulator.Asker
	columns *columns

	file   *os.File
	reader *Reader
	print  fingerprint
	health accumulator.Health

	// Following: what the last look at the file saw.
	changed time.Time     // when it was last modified
	rotated bool          // another file has its name
	quiet   time.Duration // since it last grew after that

	caughtUp bool // what was told of it
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close() // read only: nothing can be lost
		t.file = nil
	}
}

func (t *tail) run(ctx context.Context, from []boundary.Position) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	offset, err := t.resume(from)
	if err != nil {
		return err
	}
	if err := t.begin(ctx, offset); err != nil {
		return err
	}
	for {
		if err := t.drain(ctx, !t.cfg.Follow); err != nil || !t.cfg.Follow {
			return err
		}
		if err := t.await(ctx); err != nil {
			return err
		}
	}
}

// open opens the file, waiting for it when it is followed.
func (t *tail) open(ctx context.Context) error {
	t.close()
	for wait := minPoll; ; wait = min(2*wait, maxPoll) {
		look := t.asker.Look()
		f, err := openRegular(t.cfg.Access, t.cfg.Path)
		if err == nil {
			t.file = f
			return nil
		}
		if !t.cfg.Follow || !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t.say(accumulator.Disconnected, err.Error()+" yet")
		t.asker.Looked(look)
		if _, err := t.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// missing is the path of a file that is not there.
type missing string

func (m missing) Error() string { return "there is no file " + string(m) }

// Unwrap says what kind of error it is.
func (missing) Unwrap() error { return os.ErrNotExist }

// openRegular opens a plain file. Anything else could block, or has no positions.
func openRegular(access *policy.Policy, path string) (*os.File, error) {
	f, err := access.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, missing(path)
	case errors.Is(err, policy.ErrNotRegular):
		return nil, fmt.Errorf("%w; a file source reads nothing else", err)
	}
	return f, err
}

// resume is where to go on, or a *DataLost when the file no longer has what was read of it.
func (t *tail) resume(from []boundary.Position) (int64, error) {
	pos, ok := resumePoint(from)
	if !ok {
		return 0, nil
	}
	want, ok := parseStream(pos.Stream)
	if !ok || pos.Offset < 0 {
		return 0, fmt.Errorf("resume: %q is not a position of a file", pos.String())
	}
	st, err := t.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	have, err := fingerprintOf(t.file, want.n)
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	if have == want && pos.Offset <= st.Size() {
		return pos.Offset, nil
	}
	if t.cfg.Follow {
		moved, err := t.rotatedAway(want, pos.Offset)
		if err != nil {
			return 0, err
		}
		if moved != nil {
			t.close()
			t.file = moved
			return pos.Offset, nil // finished like any file that is renamed while it is read
		}
	}
	if t.cfg.OnTruncate == "restart" {
		return 0, nil
	}
	return 0, t.lost(pos, st.Size())
}

// lost is the error that what was read up to pos is not in the file any more.
func (t *tail) lost(pos boundary.Position, size int64) error {
	have, err := fingerprintOf(t.file, fingerprintSize)
	if err != nil {
		return err
	}
	return &accumulator.DataLost{
		Want: pos.String(),
		Have: fmt.Sprintf("%s with %d bytes", have.stream(), size),
	}
}

// begin reads the open file from offset on.
func (t *tail) begin(ctx context.Context, offset int64) error {
	t.rotated, t.quiet, t.print = false, 0, fingerprint{}
	t.columns.heads, t.columns.kinds = nil, nil
	if t.cfg.Format == "csv" && offset > 0 {
		// The names of the columns stand at the beginning.
		head := newReader(until(ctx, io.NewSectionReader(t.file, 0, 1<<62)), t.cfg.ReaderConfig, 0, t.columns)
		if err := head.skipHeader(); err != nil {
			return err
		}
		offset = max(offset, head.f.offset)
	}
	if _, err := t.file.Seek(offset, io.SeekStart); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	t.reader = newReader(until(ctx, t.file), t.cfg.ReaderConfig, offset, t.columns)
	if err := t.identify(); err != nil {
		return err
	}
	t.say(accumulator.Live, "")
	return nil
}

// identify takes the fingerprint anew while the file is too short for a full one.
func (t *tail) identify() error {
	if t.print.n == fingerprintSize {
		return nil
	}
	p, err := fingerprintOf(t.file, fingerprintSize)
	if err != nil {
		return err
	}
	if p != t.print {
		t.print, t.reader.stream = p, p.stream()
	}
	return nil
}

// drain hands over all events that are there; with final, a partial last line too.
func (t *tail) drain(ctx context.Context, final bool) error {
	for {
		if err := t.identify(); err != nil {
			return err
		}
		batch, last, err := t.read(final)
		if len(batch) > 0 {
			if err := t.out.Emit(ctx, batch); err != nil {
				return err
			}
		}
		var bad *accumulator.BadEvent
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, errMore):
			return nil
		case errors.As(err, &bad):
			last.At = time.Now()
			if err := t.out.Refuse(ctx, last, bad); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// read reads one batch. last is the event that err is about.
func (t *tail) read(final bool) (batch []boundary.Event, last boundary.Event, err error) {
	var at time.Time
	for bytes := 0; len(batch) < batchEvents && bytes < batchBytes; {
		if batch == nil {
			// Most calls find nothing: the first event is read before there is a batch.
			if err := t.reader.next(&last, final); err != nil {
				return nil, last, err
			}
			at = time.Now()
			last.At = at
			batch = append(accumulator.NewBatch(t.out, batchEvents), last)
			bytes += len(last.Raw)
			continue
		}
		batch = batch[:len(batch)+1]
		ev := &batch[len(batch)-1]
		if err := t.reader.next(ev, final); err != nil {
			return batch[:len(batch)-1], *ev, err
		}
		ev.At = at
		bytes += len(ev.Raw)
	}
	return batch, last, nil
}

// say tells a change of health.
func (t *tail) say(h accumulator.Health, detail string) {
	if t.health != h {
		t.health = h
		t.out.Health(h, detail)
	}
}

// readerFunc is a reader made of a function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// until reads from r and ends when ctx is done, however much there is to read.
func until(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}
