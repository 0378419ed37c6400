// Package file is the sink that appends values to files, one JSON document a line (here on two):
//
//	{"at":"2026-11-20T10:00:00.123Z","epoch":7,"firing_id":"…","incarnation":3,"key":null,
//	 "output":"signals","value":{…}}
//
// Keys are sorted. A line also has "degraded", the names of what was not healthy,
// when the epoch ran on less than all its inputs. With format: csv a line is a row of declared
// columns, before those of the line itself; no row goes over a line's end.
//
// Lines are whole: a batch goes out in writes that end at a line's end, to files
// opened for appending, so that several outputs and graphs may share one. What a
// crash or a full disk left of a line is ended before anything is appended. When
// a file was renamed or removed, as log rotation does, the next batch goes to a
// new file of its name.
//
// With a partition, an expression, each of its values has a file of its own, whose name the value
// is part of ([name]). A bounded number of them is open at a time, and a bounded number written to
// within a day: a partition past that is refused, so that a mistake in the expression does not fill
// a folder.
//
// A batch is in the operating system's hands when Deliver returns; it is forced to
// the disk when the sink is closed, its file rotated away, or closed for another one.
//
// A full disk refuses the line that does not fit: with on_error: block the output waits
// for room, with dead_letter the line is kept in the store. What is in a file is not
// written again.
//
// The package starts no goroutine.
package file

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/sink"
)

const (
	// defaultOpen is how many files are open at a time: few beside what a process may open.
	defaultOpen = 256
	// defaultPartitions is how many files are written to within a day: more than anybody reads,
	// fewer than what burdens a folder.
	defaultPartitions = 10_000
	// partitionSpan is the time after which a partition that is not written to counts no more.
	partitionSpan = 24 * time.Hour
)

// Config says where values go.
type Config struct {
	// Path is the file; with a Partition it holds [placeholder], for which its value stands.
	Path string
	// Access opens files; nil denies nothing.
	Access *policy.Policy
	// Partition says which file a value goes to; nil: all go to one.
	Partition *sink.Option
	// CSV makes rows of these fields of a value; without, lines are JSON.
	CSV     bool
	Columns []string
	// MaxOpen and MaxPartitions bound the files that are open and those that are written to
	// within a day; 0 means the default.
	MaxOpen, MaxPartitions int
}

// Sink appends to files. It is used by one goroutine at a time.
type Sink struct {
	cfg   Config
	form  form
	buf   []byte // reused across batches
	known map[string]*place
	// open and closed have the places of known, those that were used last in front.
	open, closed *list.List
	// written are the firings of a batch that has partly failed which need not be sent again.
	written map[string]bool
}

// place is the file of one partition.
type place struct {
	partition string
	file      appender
	used      time.Time
	at        *list.Element // of open or closed
}

var _ sink.Sink = (*Sink)(nil)

// Open opens the file at the configured path, making it when there is none; its folder must exist.
// With a partition that is the folder below which all files are, and they are opened when
// there is something to write.
func Open(cfg Config) (*Sink, error) {
	if cfg.MaxOpen == 0 {
		cfg.MaxOpen = defaultOpen
	}
	if cfg.MaxPartitions == 0 {
		cfg.MaxPartitions = defaultPartitions
	}
	s := &Sink{cfg: cfg, form: newForm(cfg.CSV, cfg.Columns), known: map[string]*place{}, open: list.New(),
		closed: list.New(), written: map[string]bool{}}
	if cfg.Partition != nil {
		return s, lookForFolder(cfg.Path, root(cfg.Path))
	}
	p, err := s.find("", time.Now())
	if err != nil {
		return nil, err
	}
	if err := s.use(p); err != nil {
		return nil, err
	}
	return s, nil
}

// errUntried is the fate of a message behind one that has no file.
var errUntried = errors.New("not tried")

// Deliver appends the batch. When it fails, the first message that is not in its file is named,
// and what is written behind it is not written again.
func (s *Sink) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fates := make([]error, len(batch)) // nil: in its file
	for _, g := range s.groups(batch, fates) {
		if err := s.append(ctx, batch, g); err != nil {
			for _, i := range g.left {
				fates[i] = err
			}
		}
	}
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	return s.outcome(batch, fates)
}

// group is what goes to one file.
type group struct {
	to   *place
	left []int // the indexes of its messages that are not written, in their order
}

// groups says which file each message goes to. What follows one that has none is not tried.
func (s *Sink) groups(batch []sink.Message, fates []error) (groups []*group) {
	by := make(map[*place]*group, 1)
	now := time.Now()
	for i := range batch {
		if len(s.written) > 0 && s.written[batch[i].FiringID()] {
			continue
		}
		to, err := s.placeOf(&batch[i], now)
		if err != nil {
			fates[i] = err
			for j := i + 1; j < len(batch); j++ {
				fates[j] = errUntried
			}
			break
		}
		g := by[to]
		if g == nil {
			g = &group{to: to}
			by[to] = g
			groups = append(groups, g)
		}
		g.left = append(g.left, i)
	}
	return groups
}

// placeOf is where a message goes.
func (s *Sink) placeOf(m *sink.Message, now time.Time) (*place, error) {
	if err := s.form.fits(m); err != nil {
		return nil, err
	}
	if s.cfg.Partition == nil {
		return s.find("", now)
	}
	v, err := s.cfg.Partition.Of(m)
	if err != nil {
		return nil, refuse("partition_failed", fmt.Errorf("find the partition: %w", err))
	}
	return s.find(name(v), now)
}

// find is the place of a partition, which is refused when there are too many of them.
func (s *Sink) find(partition string, now time.Time) (*place, error) {
	if p := s.known[partition]; p != nil {
		p.used = now
		return p, nil
	}
	path, err := fill(s.cfg.Path, partition)
	if err != nil {
		return nil, refuse("partition_failed", err)
	}
	if len(s.known) >= s.cfg.MaxPartitions && !s.forget(now) {
		return nil, refuse("too_many_partitions", fmt.Errorf("%s would be one file more than the %d that may be "+
			"written to within %v; look at partition, or raise max_partitions",
			path, s.cfg.MaxPartitions, partitionSpan))
	}
	p := &place{partition: partition, file: appender{path: path, access: s.cfg.Access, form: s.form}, used: now}
	p.at = s.closed.PushFront(p)
	s.known[partition] = p
	return p, nil
}

// forget forgets the closed partition that was used the longest ago, if that is long enough.
func (s *Sink) forget(now time.Time) bool {
	last := s.closed.Back()
	if last == nil {
		return false
	}
	p := last.Value.(*place)
	if now.Sub(p.used) < partitionSpan {
		return false
	}
	s.closed.Remove(last)
	delete(s.known, p.partition)
	return true
}

// use makes sure that the file which a place's path names now is open, and closes the one that
// was used the longest ago when that makes too many.
func (s *Sink) use(p *place) error {
	if p.file.file != nil {
		s.open.MoveToFront(p.at)
		err := p.file.follow()
		if err != nil {
			err = errors.Join(err, s.shut(p))
		}
		return err
	}
	if s.open.Len() >= s.cfg.MaxOpen {
		if err := s.shut(s.open.Back().Value.(*place)); err != nil {
			return err
		}
	}
	if err := s.openFile(p); err != nil {
		return err
	}
	s.closed.Remove(p.at)
	p.at = s.open.PushFront(p)
	return nil
}

// openFile opens a place's file, in the folders that it takes. The value of a partition whose name is taken by
// another is refused: it would wait for ever, and what is behind it too.
func (s *Sink) openFile(p *place) error {
	if s.cfg.Partition == nil {
		return p.file.open()
	}
	top := root(s.cfg.Path)
	err := makeFolders(s.cfg.Access, p.file.path, top)
	if err == nil {
		err = p.file.open()
	}
	if err != nil {
		if taken := inTheWay(p.file.path, top); taken != nil {
			return refuse("partition_failed", taken)
		}
	}
	return err
}

// shut forces an open file to the disk and closes it.
func (s *Sink) shut(p *place) error {
	s.open.Remove(p.at)
	p.at = s.closed.PushFront(p)
	return p.file.release()
}

// append writes a group to its file, and takes what is there off its list.
func (s *Sink) append(ctx context.Context, batch []sink.Message, g *group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.use(g.to); err != nil {
		return err
	}
	from := 0
	s.buf = s.buf[:0]
	for to, i := range g.left {
		s.buf = s.form.append(s.buf, &batch[i])
		if len(s.buf) < chunk && to < len(g.left)-1 {
			continue
		}
		n, err := g.to.file.write(ctx, s.buf)
		if err != nil {
			g.left = g.left[from+n:]
			return errors.Join(err, s.shut(g.to))
		}
		from = to + 1
		s.buf = s.buf[:0]
	}
	return nil
}

// outcome is what became of a batch: nil, or an error about the first message that is not in
// its file. What is written behind it is remembered.
func (s *Sink) outcome(batch []sink.Message, fates []error) error {
	clear(s.written)
	first := slices.IndexFunc(fates, func(err error) bool { return err != nil })
	if first < 0 {
		return nil
	}
	for i := first + 1; i < len(fates); i++ {
		if fates[i] == nil {
			s.written[batch[i].FiringID()] = true
		}
	}
	if refused, ok := errors.AsType[*sink.PermanentError](fates[first]); ok {
		return &sink.PermanentError{Index: first, Code: refused.Code, Err: refused.Err}
	}
	return &sink.RetryError{Index: first, Err: fates[first]}
}

// refuse gives an error the form in which sinks refuse a message; outcome says which.
func refuse(code string, err error) error { return &sink.PermanentError{Code: code, Err: err} }

// Close forces what was written to the disk and closes the files. It may be called twice.
func (s *Sink) Close(context.Context) error {
	var errs []error
	for s.open.Len() > 0 {
		errs = append(errs, s.shut(s.open.Front().Value.(*place)))
	}
	return errors.Join(errs...)
}
