package file

import (
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// appendLine appends one message as a line.
func appendLine(dst []byte, m *sink.Message) []byte {
	dst = append(dst, `{"at":`...)
	dst = boundary.Time(m.At).AppendJSON(dst)
	if len(m.Degraded) > 0 {
		dst = append(dst, `,"degraded":[`...)
		for i, name := range m.Degraded {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = boundary.String(name).AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"epoch":`...)
	dst = strconv.AppendInt(dst, m.Epoch, 10)
	dst = append(dst, `,"firing_id":"`...)
	dst = append(dst, m.FiringID()...)
	dst = append(dst, `","incarnation":`...)
	dst = strconv.AppendInt(dst, m.Incarnation, 10)
	dst = append(dst, `,"key":`...)
	if m.Key == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, m.Key...) // a key is canonical JSON
	}
	dst = append(dst, `,"output":`...)
	dst = boundary.String(m.Output).AppendJSON(dst)
	dst = append(dst, `,"value":`...)
	dst = m.Value.AppendJSON(dst)
	return append(dst, '}', '\n')
}
