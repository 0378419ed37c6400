package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/filelock"
	"github.com/graphd/graphd/internal/dal/sqlite/schema"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
	"github.com/graphd/graphd/migrations"
)

// Options tune a store. The zero value is right for a daemon.
type Options struct {
	// Readers is how many reads may run at once; 0 means 4.
	Readers int
	// CacheBytes bounds the page cache of the writer, and of each reader to half of it;
	// 0 means 8 MiB.
	CacheBytes int64
	// BusyTimeout is how long a write waits for another program that has locked the
	// file, such as a backup; 0 means 5 s.
	BusyTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 8 << 20
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	return o
}

// writerPragmas set up the connection that writes. In WAL mode FULL means that a
// commit has been through fsync when it returns. The WAL goes back into the file
// at about 4 MB, and shrinks to 64 MiB after a commit that was larger.
func (o Options) writerPragmas() string {
	return fmt.Sprintf(`PRAGMA busy_timeout = %d; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
		PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
		PRAGMA temp_store = MEMORY; PRAGMA cache_size = %d;
		PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864`,
		o.BusyTimeout.Milliseconds(), -o.CacheBytes/1024)
}

func (o Options) readerPragmas() string {
	return fmt.Sprintf(`PRAGMA busy_timeout = %d; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;
		PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = %d`,
		o.BusyTimeout.Milliseconds(), -o.CacheBytes/2048)
}

// Open opens the store in the file at path, makes it when there is none, and
// brings its schema up to date. The directory is made too.
//
// Errors: checkpoint.ErrLocked when another process (or another store in this one)
// has the file; checkpoint.ErrNewerSchema and checkpoint.ErrCorrupt when the file can not be used and a
// person must decide. A file that is there is never replaced.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s, err := openWith(ctx, path, opts, migrations.SQLite())
	return s, rules.Wrap(err, "open store %s", path)
}

func openWith(ctx context.Context, path string, opts Options, files fs.FS) (*Store, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.Take(path)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	first, err := openFile(ctx, path, opts, files, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	w, err := openWitness(first, path)
	if err != nil {
		return nil, errors.Join(err, first.Close(), lock.Release())
	}
	return startStore(path, opts, lock, first, w), nil
}

// realPath makes the directory, and follows links, so that two names of one file
// meet at one lock.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the store's directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	// The file is not there yet; its directory is.
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// openFile returns the writer's connection to the file, up to date. The lock is held.
func openFile(ctx context.Context, path string, opts Options, files fs.FS, lock *filelock.Lock) (*sqlconn.Conn, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := createFile(ctx, path, files); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a file: name the file the store shall be in")
	case info.Size() == 0:
		return nil, schema.ErrEmpty
	}
	database, err := lock.Database(path)
	if err != nil {
		return nil, err
	}
	if err := checkSize(database, path); err != nil {
		return nil, err
	}
	c, err := sqlconn.Open(path, opts.writerPragmas())
	if err != nil {
		return nil, explain(err)
	}
	err = checkFile(c)
	if err == nil {
		err = explain(schema.Migrate(ctx, c, files))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// checkFile refuses what SQLite can open but is no store, or can not be kept safely.
func checkFile(c *sqlconn.Conn) error {
	if err := schema.CheckProgram(c); err != nil {
		return explain(err)
	}
	r, err := c.First("SELECT journal_mode FROM pragma_journal_mode")
	if err != nil {
		return explain(err)
	}
	if mode := r.Text(0); mode != "wal" {
		return fmt.Errorf(
			"the file system does not allow a write-ahead log (journal mode is %q); put the store on a local disk",
			mode)
	}
	return nil
}

// createFile makes a new store beside path and renames it into place when it is
// whole, so that path never is half a store.
func createFile(ctx context.Context, path string, files fs.FS) error {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%w: the file is gone but its log %s-wal is there; restore the file, or remove the log "+
			"too to start empty", checkpoint.ErrCorrupt, path)
	}
	made := path + ".new"
	for _, left := range []string{made, made + "-journal", path + "-wal", path + "-shm"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what an interrupted start has left: %w", err)
		}
	}
	f, err := os.OpenFile(made, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the store's file: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make the store's file: %w", err)
	}
	c, err := sqlconn.Open(made, fmt.Sprintf("PRAGMA synchronous = FULL; PRAGMA application_id = %d",
		schema.ApplicationID))
	if err != nil {
		return fmt.Errorf("make the store's file: %w", explain(err))
	}
	if err := errors.Join(explain(schema.Migrate(ctx, c, files)), c.Close()); err != nil {
		return err
	}
	// A link does not replace what another process has made meanwhile.
	if err := os.Link(made, path); err == nil {
		err = os.Remove(made)
		if err != nil {
			return fmt.Errorf("make the store's file: %w", err)
		}
	} else if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s was made by another process meanwhile: %w", path, checkpoint.ErrLocked)
	} else if err := os.Rename(made, path); err != nil { // a file system without links
		return fmt.Errorf("make the store's file: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// Look says how the schema of the store at path stands to this release, and changes nothing.
func Look(ctx context.Context, path string) (rules.Standing, error) {
	s, err := schema.Look(ctx, path, migrations.SQLite())
	return s, rules.Wrap(explain(err), "look at the store %s", path)
}
