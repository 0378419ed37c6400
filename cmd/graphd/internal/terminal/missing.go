package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Missing gives an error about a file that is not there its exit code, and says what to do
// in place of which system call has failed. Other errors pass.
func Missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		words := fmt.Sprintf("there is no file %s: correct the path, or make the file", e.Path)
		err = errors.New(strings.Replace(err.Error(), e.Error(), words, 1))
	}
	return Exit(ExitNotFound, err)
}
