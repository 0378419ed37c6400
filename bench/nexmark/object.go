package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fastjson"
)

// An object is JSON that is being written. Its texts have nothing that needs an escape.
type object []byte

// begin begins an object in the buffer of another one.
func (o object) begin() object { return append(o[:0], '{') }

func (o object) name(name string) object {
	if o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	o = append(append(o, '"'), name...)
	return append(o, '"', ':')
}

func (o object) whole(name string, v int64) object { return strconv.AppendInt(o.name(name), v, 10) }

func (o object) real(name string, v float64) object {
	return strconv.AppendFloat(o.name(name), v, 'g', -1, 64)
}

func (o object) text(name, v string) object {
	o = append(append(o.name(name), '"'), v...)
	return append(o, '"')
}

// stamp writes milliseconds as RFC 3339 in UTC.
func (o object) stamp(name string, ms int64) object {
	o = append(o.name(name), '"')
	o = time.UnixMilli(ms).UTC().AppendFormat(o, "2006-01-02T15:04:05.000Z")
	return append(o, '"')
}

// raw writes a member that is JSON already; list one that is a list of such.
func (o object) raw(name string, v []byte) object { return append(o.name(name), v...) }

func (o object) list(name string, of [][]byte) object {
	o = append(append(o.name(name), '['), bytes.Join(of, []byte{','})...)
	return append(o, ']')
}

// from writes the members of an event that have these names.
func (o object) from(e event, names ...string) object {
	for _, name := range names {
		o = e.v.Get(name).MarshalTo(o.name(name))
	}
	return o
}

// done ends the object; line ends its line, too.
func (o object) done() []byte { return append(o, '}') }
func (o object) line() []byte { return append(o, '}', '\n') }

// An event is a line of a file, until the next one is read.
type event struct{ v *fastjson.Value }

func (e event) whole(name string) int64 { return e.v.GetInt64(name) }
func (e event) text(name string) string { return string(e.v.GetStringBytes(name)) }
func (e event) at() int64               { return e.v.GetInt64("dateTime") }

// copied is the event's own JSON, to be kept.
func (e event) copied() []byte { return e.v.MarshalTo(nil) }

// each calls f with each event of a file, in order.
func each(path string, f func(event)) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	var p fastjson.Parser
	for r := bufio.NewReaderSize(in, 256<<10); ; {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		v, err := p.ParseBytes(line)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		f(event{v})
	}
}
