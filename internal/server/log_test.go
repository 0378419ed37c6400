package server

import (
	"io"
	"log/slog"
)

// textLog logs everything as text.
func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// events is where events for the fake's accumulator are pushed.
const events = "/v1/graphs/g/accumulators/a/events"
