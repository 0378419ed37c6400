// Package process is what an administrator of the platform reads and sets of a daemon's process while it runs.
package process

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/server/wire"
)

// Log is the level of the daemon's log. The zero Log has none that can be set.
type Log struct {
	level      *slog.LevelVar
	configured slog.Level
	log        *slog.Logger
	trail      *audit.Trail
}

// NewLog makes the Log of a level, which is nil where nothing reads it. Changes are written to trail, where that is
// not nil.
func NewLog(level *slog.LevelVar, log *slog.Logger, trail *audit.Trail) Log {
	l := Log{level: level, log: log, trail: trail}
	if level != nil {
		l.configured = level.Level()
	}
	return l
}

// Level is the level, and what it was at the start.
func (l *Log) Level() (api.LogLevel, error) {
	if l.level == nil {
		return api.LogLevel{}, wire.Refuse(http.StatusConflict, api.CodeLogLevelFixed,
			"the log is that of the program that embeds this daemon: set its level there")
	}
	return api.LogLevel{Level: api.NameLogLevel(l.level.Level()), Configured: api.NameLogLevel(l.configured)}, nil
}

// Set makes the level another one until the process ends. by names who asks.
func (l *Log) Set(ctx context.Context, name, by string) (api.LogLevel, error) {
	was, err := l.Level()
	if err != nil {
		return was, err
	}
	level, err := api.ParseLogLevel(name)
	if err != nil {
		return was, wire.Refuse(http.StatusUnprocessableEntity, api.CodeInvalidBody, err.Error())
	}
	set := func(ctx context.Context) (api.LogLevel, error) {
		say := func() {
			l.log.InfoContext(ctx, "the log has another level until the daemon is restarted",
				slog.String("level", api.NameLogLevel(level)), slog.String("before", was.Level), slog.String("by", by))
		}
		if level > slog.LevelInfo { // it would not be said any more
			say()
		}
		l.level.Set(level)
		if level <= slog.LevelInfo {
			say()
		}
		return l.Level()
	}
	if l.trail == nil {
		return set(ctx)
	}
	return audit.Do(ctx, l.trail, audit.Action{Tenant: audit.Daemon, Operation: "log level",
		Detail: []string{was.Level + " → " + api.NameLogLevel(level)}}, set, nil)
}
