package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	tables "github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/rules"
)

func TestReadableIsThisRelease(t *testing.T) {
	t.Parallel()
	if want := fmt.Sprintf("<= %d", rules.Format); !strings.HasSuffix(tables.Readable, want) {
		t.Errorf("%s does not end with %s", tables.Readable, want)
	}
}

// TestM55RaisedMeanwhile: a daemon whose store a newer release raises goes on as long as that release says that it may,
// and says so once.
func TestM55RaisedMeanwhile(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	var log bytes.Buffer
	s := openWith(t, dsn, Options{Schema: schema, Timeouts: patient, Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer s.Close()
	renew(t, s, time.Minute)
	o := checkpointtest.NewOwner(t, s, "g")
	query(t, dsn, "INSERT INTO "+schema+".schema_migration (version, name) VALUES (99, '0099_next.sql')")
	for range 3 {
		renew(t, s, time.Minute)
		o.Commit(t)
	}
	if s.Ahead() != 99-s.raised.Known || strings.Count(log.String(), "start the newer release in its place") != 1 {
		t.Errorf("%d migrations ahead; the log says: %s", s.Ahead(), &log)
	}
}

// TestM55NothingIsWrittenBeyondTheFormat: from the moment on in which a newer release raises the format, an older one
// that runs writes nothing of a graph's state, be it the first thing that it does, and no more of anything once it has
// noticed; it gives its lease up, and goes on when the store is put back.
func TestM55NothingIsWrittenBeyondTheFormat(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	id := checkpoint.ID{Tenant: "default", Graph: "g"}
	raise := func(format, readableFrom int) {
		query(t, dsn, fmt.Sprintf("UPDATE %s.store_format SET format = %d, readable_from = %d", schema, format,
			readableFrom))
	}
	state := func() string {
		return fmt.Sprint(query(t, dsn, "SELECT h.seq, h.fence, h.unclean_starts, j.last FROM "+schema+
			".graph_head h JOIN "+schema+".graph_journal j USING (state)"))
	}
	for name, write := range map[string]func(s *Store, head checkpoint.Head) error{
		"commit": func(s *Store, head checkpoint.Head) error {
			return s.Commit(t.Context(), &checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq + 1, Epoch: 1})
		},
		"append": func(s *Store, head checkpoint.Head) error {
			return s.AppendJournal(t.Context(), id, head.Fence, []checkpoint.JournalEntry{{Seq: head.Journal + 1}})
		},
		"acquire": func(s *Store, _ checkpoint.Head) error {
			_, err := s.Acquire(t.Context(), id)
			return err
		},
		"renewal": func(s *Store, _ checkpoint.Head) error {
			_, err := s.RenewLease(t.Context(), time.Minute)
			return err
		},
	} {
		s := open(t, dsn, schema)
		renew(t, s, time.Minute)
		head, err := s.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		before := state()
		raise(9, 8)
		if err := write(s, head); !errors.Is(err, checkpoint.ErrNewerSchema) ||
			!strings.Contains(err.Error(), "start the newer release in its place") {
			t.Errorf("%s: %v", name, err)
		}
		if after := state(); after != before {
			t.Errorf("%s: the state was %s, and is %s", name, before, after)
		}
		d := checkpoint.Declaration{Tenant: "default", Graph: name}
		if _, err := s.PutDeclaration(t.Context(), d, -1); !errors.Is(err, checkpoint.ErrNewerSchema) {
			t.Errorf("%s: a declaration after it: %v", name, err)
		}
		if err := s.Ping(t.Context()); checkpoint.Ailment(err) != "store_newer" {
			t.Errorf("%s: ping: %v", name, err)
		}
		expires := query(t, dsn, "SELECT expires_at FROM "+schema+".lease")
		if _, err := s.RenewLease(t.Context(), time.Hour); !errors.Is(err, checkpoint.ErrNewerSchema) {
			t.Errorf("%s: renewal: %v", name, err)
		}
		if again := query(t, dsn, "SELECT expires_at FROM "+schema+".lease"); fmt.Sprint(again) != fmt.Sprint(expires) {
			t.Errorf("%s: the lease was renewed: %v, %v", name, expires, again)
		}
		if _, err := s.Roster(t.Context()); err != nil {
			t.Errorf("%s: who is there is not told: %v", name, err)
		}
		raise(2, 2)
		renew(t, s, time.Minute)
		if head, err = s.Acquire(t.Context(), id); err != nil {
			t.Errorf("%s: put back: %v", name, err)
		}
		if err := s.Yield(t.Context(), id, head.Fence); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}
