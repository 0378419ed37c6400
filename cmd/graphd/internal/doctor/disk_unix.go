//go:build linux || darwin

package doctor

import "syscall"

// room is how many bytes are free where a folder is, and how many there are.
func room(folder string) (free, of uint64, ok bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return 0, 0, false
	}
	size := uint64(fs.Bsize)
	return fs.Bavail * size, fs.Blocks * size, true
}
