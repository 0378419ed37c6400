package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"slices"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

// pack is a gzipped tar archive of the entries in a folder of that name: the same entries give the same bytes.
func pack(folder string, at time.Time, entries []entry) ([]byte, error) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // no name and no time in its head
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
