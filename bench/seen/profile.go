package seen

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// Record writes the processor's profile of a daemon at an address, over so many seconds from now on, to a file. The
// daemon must run with --pprof.
func Record(ctx context.Context, address string, seconds int, path string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", address, seconds)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("record a profile: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("record a profile: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("record a profile: %s", res.Status)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the directory of profiles: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	if _, err := f.ReadFrom(res.Body); err != nil {
		_ = f.Close()
		return fmt.Errorf("write a profile: %w", err)
	}
	return f.Close()
}
