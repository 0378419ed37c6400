package job

import (
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Input is the books of one input at the end of a run (M42), which balance as those of a daemon
// do: received = filtered + conflated + rejected + dead_lettered + consumed + queued. Queued is what
// was left in windows, batches and queues.
type Input struct {
	Name     string `json:"-"`
	Received int64  `json:"received"`
	Filtered int64  `json:"filtered"`
	// Late are those of the filtered events that were dropped as too late.
	Late         int64 `json:"late"`
	Conflated    int64 `json:"conflated"`
	Rejected     int64 `json:"rejected"`
	DeadLettered int64 `json:"dead_lettered"`
	Consumed     int64 `json:"consumed"`
	Queued       int64 `json:"queued"`
}

// Letter is a dead letter with its place in the file.
type Letter struct {
	*checkpoint.DeadLetter
	// Line and LastLine are where the events begin that it is about, from 1; 0 for what has
	// no such place.
	Line, LastLine int64
}

// liner is a Reader that knows the line of the last event.
type liner interface{ Line() int64 }

// line is the line of the event that input i gave last, 0 when its reader does not know.
func (r *runner) line(i int) int64 {
	if l, ok := r.cfg.Inputs[i].(liner); ok {
		return l.Line()
	}
	return 0
}

// tellLetters hands out the dead letters since it was last called. They are counted, and a file
// of nothing but poison must not fill the memory.
func (r *runner) tellLetters() error {
	letters := r.g.Letters()
	if len(letters) == 0 {
		return nil
	}
	for i := range letters {
		if err := r.tellLetter(&letters[i]); err != nil {
			return err
		}
	}
	r.g.DropLetters()
	return nil
}

func (r *runner) tellLetter(l *checkpoint.DeadLetter) error {
	if r.cfg.DeadLetter == nil {
		return nil
	}
	first, last := lines(l.Position)
	return r.cfg.DeadLetter(Letter{l, first, last})
}

// lines reads the lines that read has made positions of: "@4", or "@4..@9".
func lines(position string) (first, last int64) {
	from, to, several := strings.Cut(position, "..")
	if !several {
		to = from
	}
	return line(from), line(to)
}

func line(position string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(position, "@"), 10, 64)
	if err != nil {
		return 0 // it has no place
	}
	return n
}
