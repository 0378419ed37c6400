package wires

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sslMode finds how a connection string asks for TLS; what was read of it says it in no word.
var sslMode = regexp.MustCompile(`(?:^|[?&\s])sslmode\s*=\s*'?([a-z-]+)`)

// Dump is the command line, for a shell, that copies the database at dsn to a file, as c was read from dsn. The
// password is not in it.
func Dump(dsn string, c *pgx.ConnConfig, file string) string {
	words := []string{"pg_dump", "-Fc", "-h", quoted(c.Host), "-p", strconv.Itoa(int(c.Port)), "-U", quoted(c.User),
		"-d", quoted(c.Database), "-f", file}
	if m := sslMode.FindStringSubmatch(dsn); m != nil {
		words = append([]string{"PGSSLMODE=" + m[1]}, words...)
	}
	return strings.Join(words, " ")
}

// plain is what a shell takes as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// quoted is one word to a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
