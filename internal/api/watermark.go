package api

import "time"

// Watermark is how far the time of events has come (M3): no event before At is waited for.
type Watermark struct {
	At time.Time `json:"at"`
	// HeldBy is the partition by which it goes, "" of pushes.
	HeldBy string `json:"held_by"`
	// Partitions are those furthest behind, first of all that by which it goes, of All that there are.
	Partitions []PartitionTime `json:"partitions"`
	All        int             `json:"all"`
}

// PartitionTime is how far the time of events has come in one partition.
type PartitionTime struct {
	Partition string     `json:"partition"`
	Newest    *time.Time `json:"newest"` // null before its first event
	Heard     *time.Time `json:"heard"`  // null where that is not known
	Idle      bool       `json:"idle"`   // silent for so long that it is not waited for
}
