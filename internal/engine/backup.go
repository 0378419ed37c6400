package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/graphd/graphd/internal/api"
)

// backer is a store that can be copied while it is in use.
type backer interface {
	// Backup writes a copy of the store as of one moment to a file that must not be there yet.
	Backup(ctx context.Context, path string) error
}

// Backup copies the store while everything runs and hands the copy to send, with its size.
func (e *Engine) Backup(ctx context.Context, send func(copied io.Reader, size int64) error) error {
	store, ok := e.cfg.Store.(backer)
	if !ok {
		detail := fmt.Sprintf("a store of kind %s has no file to copy; only sqlite has", e.cfg.Store.Kind())
		if s, names := e.cfg.Store.(interface{ BackupCommand() string }); names {
			detail = fmt.Sprintf("a %s store is copied by the database's own program, which asks for the password or "+
				"takes it from PGPASSWORD or a pass file; run it as the role that owns the tables, if this one does "+
				"not: %s", e.cfg.Store.Kind(), s.BackupCommand())
		}
		return &api.Error{Status: http.StatusConflict, Code: "cannot_backup", Detail: detail}
	}
	dir, err := os.MkdirTemp(e.cfg.Scratch, ".graphd-backup-")
	if err != nil {
		return fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			e.cfg.Log.Warn("what a backup was copied through could not be removed", "dir", dir, "err", err)
		}
	}()
	path := dir + "/graphd.db"
	if err := store.Backup(ctx, path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = send(f, info.Size())
	}
	return errors.Join(err, f.Close())
}
