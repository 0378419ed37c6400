package poll

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
)

const maxKey = 16 // columns; more are the whole row

func readSQL(d *decode.Decoder, v decode.Value, c *Declared) {
	c.SQL, _ = d.Text(v, "a statement, such as SELECT id, name FROM customers")
}

func readConnection(d *decode.Decoder, v decode.Value, c *Declared) {
	s, ok := d.Text(v.Secret(), "a database: postgres://USER@HOST/DATABASE, or sqlite:PATH")
	if !ok || !d.SecretFits(v) {
		return
	}
	if _, err := parseConnection(s); err != nil {
		d.Report(v.Here(), decode.CodeBadValue, "", "%s", err.Error())
		return
	}
	c.Connection = s
}

func column(d *decode.Decoder, v decode.Value) string {
	s, ok := d.Text(v, "the name of a column")
	if ok && (len(s) > 63 || strings.ContainsRune(s, 0)) {
		d.Report(v.Here(), decode.CodeBadName, "", "%s is not the name of a column", v.Shown())
		return ""
	}
	return s
}

func readKey(d *decode.Decoder, v decode.Value, c *Declared) {
	for _, item := range d.OneOrMore(v, maxKey, "columns") {
		name := column(d, item)
		if name != "" && slices.Contains(c.Key, name) {
			d.Report(item.Here(), decode.CodeDuplicateEntry, "",
				"the column %s is named twice; remove one", decode.Quote(name))
		}
		c.Key = append(c.Key, name)
	}
}

// readLookback reads a duration, or a whole number where the column counts.
func readLookback(d *decode.Decoder, v decode.Value, c *Declared) {
	const want = "a duration such as 5m, or a whole number where the column counts"
	s, ok := d.AnyText(v, want)
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < math.MaxInt32 {
		c.Lookback = strconv.FormatInt(n, 10)
		return
	}
	span, err := time.ParseDuration(s)
	if err != nil || span < 0 {
		d.WrongType(v, want)
		return
	}
	c.Lookback = span.String()
}

// lookback is what was read: a number, or a time. Both are 0 without one.
func (c *Declared) lookback() (number int64, span time.Duration) {
	if n, err := strconv.ParseInt(c.Lookback, 10, 64); err == nil {
		return n, 0
	}
	span, _ = time.ParseDuration(c.Lookback) // it was read before; "" is 0
	return 0, span
}

// needless reports fields that do nothing where they stand.
func needless(d *decode.Decoder, got decode.Given, why string, names ...string) {
	for _, name := range names {
		if v, ok := got[name]; ok {
			d.Report(v.Name(), decode.CodeNoEffect, "", "%s is a field %s; remove it", name, why)
		}
	}
}

// checkRows looks at the fields of a statement together.
func checkRows(d *decode.Decoder, v decode.Value, got decode.Given, c *Declared) {
	needless(d, got, "of a URL, and this source asks a database", "headers")
	for _, name := range []string{"connection", "key"} {
		if _, ok := got[name]; !ok {
			d.Missing(v, name, where+" with sql")
		}
	}
	if c.After == "" {
		needless(d, got, "of a statement with after", "start", "lookback")
	} else {
		needless(d, got, "of a statement without after, whose whole result is compared", "deletes")
		if _, ok := got["lookback"]; !ok {
			d.Missing(v, "lookback", where+" with after")
		}
	}
	if c.SQL == "" || c.Connection == "" {
		return
	}
	_, span := c.lookback()
	conn, _ := parseConnection(c.Connection) // it was read before
	s, problem := parseStatement(c.SQL, conn.sqlite())
	switch {
	case problem != "":
		d.Report(got["sql"].Here(), decode.CodeBadValue, "", "%s", problem)
	case s.parameter && c.Start == "":
		d.Report(got["sql"].Here(), decode.CodeBadValue, "",
			"$1 stands for the greatest value handed over, and before there is one, for start; add after and start")
	case conn.sqlite() && span > 0:
		d.Report(got["lookback"].Here(), decode.CodeBadValue, "",
			"SQLite knows no times: a lookback is a whole number there")
	}
}
