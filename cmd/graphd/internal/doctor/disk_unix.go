//go:build linux || darwin

package doctor

import "syscall"

// writable reports whether this user may write to a file, or make one in a folder.
func writable(path string) bool {
	const write = 2 // W_OK
	return syscall.Access(path, write) == nil
}

// room is how many bytes are free where a folder is, and how many there are.
func room(folder string) (free, of uint64, ok bool) {
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return 0, 0, false
	}
	size := uint64(fs.Bsize)
	return fs.Bavail * size, fs.Blocks * size, true
}
