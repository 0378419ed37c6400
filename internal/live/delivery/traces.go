package delivery

import (
	"errors"
	"time"

	"github.com/graphd/graphd/internal/sink"
)

// trace gives messages the spans of their deliveries.
func (w *Writer) trace(batch []sink.Message) {
	if w.cfg.Trace == nil {
		return
	}
	for i := range batch {
		batch[i].Trace = w.cfg.Trace.Of(batch[i].Incarnation, batch[i].Epoch)
	}
}

// tried tells of a try to deliver a batch, those of its messages that were tried.
func (w *Writer) tried(batch []sink.Message, began, ended time.Time, err error) {
	if w.cfg.Trace == nil {
		return
	}
	through, refused, _ := len(batch), (*sink.PermanentError)(nil), time.Duration(0)
	if err != nil {
		through, refused, _ = w.judge(err, len(batch))
	}
	code := "delivery_failed"
	if refused != nil {
		code = refused.Code
	}
	partly := through > 0 || refused != nil || errors.As(err, new(*sink.RetryError))
	for i := range batch {
		switch c := batch[i].Trace; {
		case c == nil || !c.Sampled:
		case i < through:
			w.cfg.Trace.Tried(c, began, ended, false, "")
		case i == through || !partly:
			w.cfg.Trace.Tried(c, began, ended, true, code)
		default:
			return // those behind it were not tried
		}
	}
}

// settled tells that messages are through, or with a code that they were given up.
func (w *Writer) settled(batch []sink.Message, ended time.Time, code string) {
	if w.cfg.Trace == nil {
		return
	}
	for i := range batch {
		if m := &batch[i]; m.Trace != nil && m.Trace.Sampled {
			w.cfg.Trace.Settled(m.Trace, m.Incarnation, m.Epoch, m.Emitted, ended, code)
		}
	}
}
