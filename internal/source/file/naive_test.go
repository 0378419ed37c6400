package file

import (
	"strings"
)

// record is what the naive reader makes of one record.
type record struct {
	raw string // JSON, or the beginning of the bytes when bad
	bad string // code
	end int64
}

// naiveLines reads NDJSON the slow and obvious way.
func naiveLines(text string, limit int) (out []record) {
	at := 0
	if strings.HasPrefix(text, byteOrderMark) {
		at = len(byteOrderMark)
	}
	for at < len(text) {
		line, _, found := strings.Cut(text[at:], "\n")
		at += len(line)
		if found {
			at++
		}
		line = strings.TrimSuffix(line, "\r")
		switch {
		case len(line) > limit:
			out = append(out, record{line[:min(len(line), prefixSize)], "too_large", int64(at)})
		case strings.Trim(line, " \t\r") != "":
			out = append(out, record{line, "", int64(at)})
		}
	}
	return out
}

// naiveCSV splits CSV byte by byte: rows of cells, each cell with whether it was quoted.
type naiveRow struct {
	text   string
	cells  []string
	quoted []bool
	broken bool // text after a closing quote, or no closing quote
	end    int64
}

func naiveRows(text string) (rows []naiveRow) {
	at := 0
	if strings.HasPrefix(text, byteOrderMark) {
		at = len(byteOrderMark)
	}
	for at < len(text) {
		var row naiveRow
		begin := at
		end := len(text) // of the record's text
	record:
		for {
			var cell strings.Builder
			quoted := at < len(text) && text[at] == '"'
			if quoted {
				at++
				for {
					if at == len(text) {
						row.broken = true
						break record
					}
					if text[at] == '"' {
						if at+1 < len(text) && text[at+1] == '"' {
							cell.WriteByte('"')
							at += 2
							continue
						}
						at++
						break
					}
					cell.WriteByte(text[at])
					at++
				}
			}
			from := at
			for at < len(text) && text[at] != ',' && text[at] != '\n' {
				at++
			}
			rest := text[from:at]
			if at == len(text) || text[at] == '\n' {
				rest = strings.TrimSuffix(rest, "\r")
			}
			row.broken = row.broken || quoted && rest != ""
			row.cells = append(row.cells, cell.String()+rest)
			row.quoted = append(row.quoted, quoted)
			if at == len(text) {
				break
			}
			at++
			if text[at-1] == '\n' {
				end = at - 1
				break
			}
		}
		row.text, row.end = strings.TrimSuffix(text[begin:end], "\r"), int64(at)
		rows = append(rows, row)
	}
	return rows
}
