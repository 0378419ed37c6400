package socket

import (
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// appendHello encodes the first frame of every connection.
func (h *Hub) appendHello(dst []byte, now time.Time) []byte {
	dst = append(dst, `{"type":"hello","server_time":"`...)
	dst = now.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	dst = append(dst, `","limits":{"frame_bytes":`...)
	dst = strconv.AppendInt(dst, h.cfg.MaxFrame, 10)
	dst = append(dst, `,"json_depth":`...)
	dst = strconv.AppendInt(dst, int64(h.cfg.MaxDepth), 10)
	dst = append(dst, `,"frames_per_second":`...)
	dst = strconv.AppendInt(dst, int64(h.cfg.FramesPerSecond), 10)
	dst = append(dst, `,"unanswered_frames":`...)
	dst = strconv.AppendInt(dst, maxAhead, 10)
	return append(dst, `}}`...)
}

// appendHead begins a reply: its type, and the request's id when it had one.
func appendHead(dst []byte, kind string, id []byte) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, '"')
	if id != nil {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id...)
	}
	return dst
}

func appendAck(dst, id []byte, p *wire.Pushed) []byte {
	dst = appendHead(dst, "ack", id)
	dst = append(dst, ',')
	return append(p.AppendMembers(dst), '}')
}

func appendError(dst, id []byte, code, detail string) []byte {
	dst = appendHead(dst, "error", id)
	dst = append(dst, `,"code":`...)
	dst = wire.AppendString(dst, code)
	dst = append(dst, `,"detail":`...)
	dst = wire.AppendString(dst, detail)
	return append(dst, '}')
}

// appendRefusal encodes what the engine refused. Like a problem document it has the
// declaration's errors and whatever else the engine adds.
func appendRefusal(dst, id []byte, e *api.Error) []byte {
	dst = appendError(dst, id, e.Code, e.Detail)
	dst = append(dst[:len(dst)-1], `,"status":`...)
	dst = strconv.AppendInt(dst, int64(wire.Status(e)), 10)
	return append(wire.AppendExtra(dst, e), '}')
}

// appendResult encodes a command's answer: the members of the REST answer v.
func appendResult(dst, id []byte, v any) ([]byte, error) {
	raw, err := wire.Encode(v)
	if err != nil {
		return nil, err
	}
	dst = appendHead(dst, "result", id)
	if len(raw) > 2 { // more than {}
		dst = append(dst, ',')
	}
	return append(dst, raw[1:]...), nil
}

// appendFrame encodes what a watcher gets, the same as encoding/json would, without
// reflection for what comes by the thousand: outputs and gaps.
func appendFrame(dst []byte, f *api.Frame) ([]byte, error) {
	if f.Firing != nil || f.State != nil || f.Reason != nil || f.Paused != nil || f.Type == topicSummary {
		raw, err := wire.Encode(f)
		return append(dst, raw...), err
	}
	dst = append(dst, `{"type":`...)
	dst = wire.AppendString(dst, f.Type)
	dst = append(dst, `,"graph":`...)
	dst = wire.AppendString(dst, f.Graph)
	dst = appendCount(dst, `,"shard":`, int64(f.Shard))
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, f.Seq, 10)
	dst = append(dst, `,"incarnation":`...)
	dst = strconv.AppendInt(dst, f.Incarnation, 10)
	if f.Output != "" {
		dst = append(dst, `,"output":`...)
		dst = wire.AppendString(dst, f.Output)
	}
	dst = appendCount(dst, `,"epoch":`, f.Epoch)
	if len(f.Key) > 0 {
		dst = append(dst, `,"key":`...)
		dst = append(dst, f.Key...)
	}
	if f.FiringID != "" {
		dst = append(dst, `,"firing_id":`...)
		dst = wire.AppendString(dst, f.FiringID)
	}
	if len(f.Value) > 0 {
		dst = append(dst, `,"value":`...)
		dst = append(dst, f.Value...)
	}
	if f.Health != "" {
		dst = append(dst, `,"health":`...)
		dst = wire.AppendString(dst, f.Health)
	}
	dst = appendCount(dst, `,"from":`, f.From)
	dst = appendCount(dst, `,"to":`, f.To)
	dst = appendCount(dst, `,"left_out":`, f.LeftOut)
	return append(dst, '}'), nil
}

// appendCount appends a number that is left out when it is 0.
func appendCount(dst []byte, name string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}
