package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// barAfter is how long work may take before a bar is worth looking at.
	barAfter = time.Second
	// barEvery is how often it is drawn at most.
	barEvery = 200 * time.Millisecond
	barWidth = 24
)

// Bar tells a person how far long work is, on standard error. A nil Bar tells nothing. It is
// safe for concurrent use.
type Bar struct {
	t     *Terminal
	noun  string
	began time.Time

	mu    sync.Mutex
	told  time.Time
	shown bool
	ended bool
}

// Bar begins a bar for work that counts in nouns; nil when nobody looks.
func (t *Terminal) Bar(noun string) *Bar {
	if !t.IsScreen(t.Err) {
		return nil
	}
	t.bar = &Bar{t: t, noun: noun, began: t.Now()}
	return t.bar
}

// Show says that n are done, which is done of size; size is 0 when nobody knows.
func (b *Bar) Show(n, done, size int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.t.Now()
	if b.ended || now.Sub(b.began) < barAfter || now.Sub(b.told) < barEvery {
		return
	}
	b.told, b.shown = now, true
	_, _ = io.WriteString(b.t.Err, "\r\x1b[K"+b.text(now.Sub(b.began), n, done, size)) // as with Say
}

// text is the bar as it is drawn.
func (b *Bar) text(took time.Duration, n, done, size int64) string {
	rate := float64(n) / took.Seconds()
	text := fmt.Sprintf("%s  %.0f a second", Plural(n, b.noun), rate)
	if size <= 0 || done <= 0 {
		return text
	}
	share := min(float64(done)/float64(size), 1)
	filled := int(share * barWidth)
	left := time.Duration(float64(took) * (1 - share) / share)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s  %s left", strings.Repeat("=", filled),
		strings.Repeat(" ", barWidth-filled), 100*share, text, Short(left.Round(time.Second)))
}

// Clear takes the bar from the screen, for others to write; it comes again.
func (b *Bar) Clear() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		_, _ = io.WriteString(b.t.Err, "\r\x1b[K") // as with Say
		b.shown = false
	}
}

// End takes the bar from the screen for good.
func (b *Bar) End() {
	if b == nil {
		return
	}
	b.Clear()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// Under writes to w and keeps the bar below what is written, where w may be the same screen.
func (b *Bar) Under(w io.Writer) io.Writer {
	if b == nil {
		return w
	}
	return barWriter{b, w}
}

type barWriter struct {
	b *Bar
	w io.Writer
}

func (w barWriter) Write(p []byte) (int, error) {
	w.b.Clear()
	return w.w.Write(p)
}
