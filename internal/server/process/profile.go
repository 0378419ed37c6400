package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// snapshots are the profiles of a moment, recordings those of a time, with how long that is at most. Block and mutex
// are recorded at other times not at all, for they cost.
var (
	snapshots  = []string{"allocs", "goroutine", "heap", "threadcreate"}
	recordings = map[string]int64{"block": 60, "mutex": 60, "profile": 60, "trace": 10}
)

// MaxSeconds is how long anything can be recorded.
const MaxSeconds = 60

// Profiles are those of the process. The command of a Go process is none of them: secrets could stand in it.
type Profiles struct {
	on  bool
	log *slog.Logger
	// one has room for the one recording that there can be.
	one   chan struct{}
	ended chan struct{} // closed by Close
	close func()
}

// NewProfiles makes the profiles of the process, which can be had where on says so.
func NewProfiles(on bool, log *slog.Logger) *Profiles {
	p := &Profiles{on: on, log: log, one: make(chan struct{}, 1), ended: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.ended) })
	return p
}

// Close ends a recording that is under way.
func (p *Profiles) Close() { p.close() }

// Asked is a profile that somebody asks for.
type Asked struct {
	Name string
	// Debug is 0 for the form of go tool pprof, 1 and 2 for texts.
	Debug int64
	// Seconds is how long to record, 0 for as long as is usual.
	Seconds int64
	// By names who asks.
	By string
}

// check refuses what there is not, and says how long to record: 0 is a profile of a moment.
func (p *Profiles) check(q Asked) (time.Duration, error) {
	most, recorded := recordings[q.Name]
	switch {
	case !p.on:
		return 0, wire.Refuse(http.StatusNotFound, api.CodeNotFound,
			"the daemon gives no profiles: start it with --pprof")
	case !recorded && !slices.Contains(snapshots, q.Name):
		return 0, wire.Refuse(http.StatusNotFound, api.CodeNotFound,
			fmt.Sprintf("there is no profile %q: there are %s", wire.Clip(q.Name), strings.Join(ProfileNames(), ", ")))
	case !recorded && q.Seconds != 0:
		return 0, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			q.Name+" is a profile of a moment: leave seconds out")
	case q.Debug != 0 && (q.Name == "profile" || q.Name == "trace"):
		return 0, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			q.Name+" has no text: leave debug out")
	case q.Seconds > most && recorded:
		return 0, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("%s can be recorded for %d seconds at most", q.Name, most))
	case recorded && q.Seconds == 0:
		return min(time.Duration(most)*time.Second, 10*time.Second), nil
	}
	return time.Duration(q.Seconds) * time.Second, nil
}

// ProfileNames are all there are.
func ProfileNames() []string {
	names := slices.Clone(snapshots)
	for name := range recordings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write records a profile and writes it to w. Nothing has been written when it is refused.
func (p *Profiles) Write(ctx context.Context, w io.Writer, q Asked) error {
	d, err := p.check(q)
	if err != nil {
		return err
	}
	if d > 0 {
		select {
		case p.one <- struct{}{}:
			defer func() { <-p.one }()
		default:
			return wire.Refuse(http.StatusConflict, api.CodeProfileBusy,
				"a profile is being recorded, and one can be at a time: try again when it has ended")
		}
	}
	p.log.InfoContext(ctx, "a profile of the daemon is taken", slog.String("profile", q.Name),
		slog.Duration("for", d), slog.String("by", q.By))
	switch q.Name {
	case "profile":
		return p.record(ctx, d, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
	case "trace":
		return p.record(ctx, d, func() error { return trace.Start(w) }, trace.Stop)
	case "block":
		err = p.record(ctx, d, func() error { runtime.SetBlockProfileRate(blockRate); return nil },
			func() { runtime.SetBlockProfileRate(0) })
	case "mutex":
		before := runtime.SetMutexProfileFraction(-1)
		err = p.record(ctx, d, func() error { runtime.SetMutexProfileFraction(mutexFraction); return nil },
			func() { runtime.SetMutexProfileFraction(before) })
	}
	if err != nil {
		return err
	}
	return pprof.Lookup(q.Name).WriteTo(w, int(q.Debug))
}

// blockRate has one block in so many nanoseconds recorded, mutexFraction one of so many waits for a lock.
const blockRate, mutexFraction = 10_000, 100

// record has something go on for d, or until who asks has gone or the daemon ends.
func (p *Profiles) record(ctx context.Context, d time.Duration, start func() error, stop func()) error {
	if err := start(); err != nil { // the program that embeds this daemon records one
		return wire.Refuse(http.StatusConflict, api.CodeProfileBusy, err.Error()+": try again when that has ended")
	}
	defer stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ended:
	case <-ctx.Done():
		return errors.Join(ErrGone, ctx.Err())
	}
	return nil
}

// ErrGone says that nobody waits for a profile any more.
var ErrGone = errors.New("who asked for the profile has gone")
