package virtual_test

import (
	"fmt"
	"testing"
	"time"
)

// M16, M26: a stage is fed by what ticks, and has come no further than what its node rests on: not to where
// events may still come in time, and not over a window that is open, whatever its own events say.
func TestM26StagesHaveComeAsFarAsWhatTheyRestOn(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 10s, lateness: 2s, aggregate: { n: count() } } }
  b: { time: event.at, time_unit: s, emit: event.at }
  other: { time: event.at, time_unit: s }
  s: { from: row, time: event.t, time_unit: s, window: { tumbling: 2s, aggregate: { n: sum(event.n) } } }
nodes:
  row: { expr: 'fresh(a) ? { "t": a.start, "n": a.n } : { "t": b, "n": 100 }' }
  whole: { event: true, expr: '[now(), s.end, s.n]' }
reactor: { strategy: sequential }
outputs:
  whole: { from: whole, sink: { stdout: {} } }
`)
	line := func(now, end, n int) string {
		at := func(second int) string { return time.Unix(int64(second), 0).UTC().Format("2006-01-02T15:04:05.000Z") }
		return fmt.Sprintf(`whole ["%s","%s",%d]`, at(now), at(end), n)
	}
	s.push(1, `{"at":19}`, `{"at":21}`)
	s.push(2, `{"at":21}`, `{"at":21}`)
	s.want() // an event of a could come, two seconds late
	s.push(1, `{"at":30}`)
	s.want(line(22, 20, 100), line(24, 22, 100))
	s.push(0, `{"at":31}`)
	s.push(1, `{"at":39}`, `{"at":45}`)
	s.want(line(34, 32, 100)) // a's window to 40 is open
	s.push(0, `{"at":46}`)
	s.want(line(46, 40, 100))
}

// M26: the window of a stage closes when engine time has come to it, but not before the windows in
// front of it that end in it are through. Its late events go where those of any window do.
func TestM26StageWindowsWaitForWhatIsOpen(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s, window: { tumbling: 10s, lateness: 2s, aggregate: { n: count() } } }
  b: { time: event.at, time_unit: s }
  s:
    from: row
    time: event.t
    window: { tumbling: 20s, late: stragglers, aggregate: { n: sum(event.n), rows: count() } }
nodes:
  row: { expr: '{ "n": a.n, "t": a.start }' }
  old: { expr: '[now(), stragglers.n]' }
  whole: { event: true, expr: '[now(), s.end, s.rows, s.n]' }
reactor: { strategy: sequential }
outputs:
  whole: { from: whole, sink: { stdout: {} } }
  old: { from: old, sink: { stdout: {} } }
`)
	s.push(0, `{"at":1}`, `{"at":12}`, `{"at":13}`)
	s.push(1, `{"at":40}`)
	s.want() // engine time is far beyond, but a's second window is open
	s.push(0, `{"at":41}`)
	s.want(`whole ["1970-01-01T00:00:41.000Z","1970-01-01T00:00:20.000Z",2,3]`)
	s.push(1, `{"at":90}`) // a's window of 40 is open
	s.want()
	s.must(s.g.Close())
	s.want(`whole ["1970-01-01T00:01:30.000Z","1970-01-01T00:01:00.000Z",1,1]`)
}

// M26: a stage's window closes at its own time, whatever comes when.
func TestM26StageWindowsCloseInTime(t *testing.T) {
	s := newStaged(t, `graph: g
accumulators:
  a: { time: event.at, time_unit: s }
  s: { from: n, time: event.at, time_unit: s, window: { tumbling: 10s, lateness: 3s, aggregate: { n: count() } } }
  w: { from: m, time: event.start, window: { tumbling: 20s, lateness: 1s, aggregate: { n: sum(event.n) } } }
nodes:
  n: { expr: a }
  m: { expr: '{ "n": s.n, "start": s.start }' }
  tens: { event: true, expr: '[now(), s.n]' }
  twenties: { event: true, expr: '[now(), w.n]' }
reactor: { strategy: sequential }
outputs:
  tens: { from: tens, sink: { stdout: {} } }
  twenties: { from: twenties, sink: { stdout: {} } }
`)
	at := func(second int) string {
		return time.Unix(int64(second), 0).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	s.push(0, `{"at":1}`, `{"at":12}`)
	s.want()
	s.push(0, `{"at":13}`)
	s.want(`tens ["` + at(13) + `",1]`)
	s.push(0, `{"at":60}`)
	s.want(`tens ["`+at(23)+`",2]`, `twenties ["`+at(24)+`",3]`)
	// What comes with an older time than the stage's lateness is late for it, and counts as such.
	s.push(0, `{"at":5}`)
	s.must(s.g.Close())
	s.want(`tens ["`+at(73)+`",1]`, `twenties ["`+at(84)+`",1]`)
	if l, ok := s.g.LateDrops(1); !ok || l.Events != 1 {
		t.Errorf("late %+v", l)
	}
}
