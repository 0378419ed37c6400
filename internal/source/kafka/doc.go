// Package kafka is the source that reads topics of Apache Kafka.
//
// The source assigns all partitions of its topics to itself and is no member of any
// group: the graph's checkpoint says where to go on, and a group's offsets, where one is
// named, are a mirror of it for lag tools, written only after the checkpoint (M29).
// Nothing has to be kept alive while reading is held back, and nobody can take partitions
// away. Partitions that are added while it runs are read from their beginning.
//
// # The way of a record
//
//	session   assigns partitions, asks each leader for what follows, hands over in order
//	lost      what is not there any more, and topics made anew
//	request   one fetch from one leader, its answer bounded as it is read
//	batch     the record batches of an answer; transactions that were aborted are left out
//	window    decompresses a batch piece by piece, never as a whole
//	events    makes events of records, and dead letters of what is too large
//
// There is at most one answer waiting per leader while another is handed over; an answer
// takes at most Config.MaxBatchBytes, and so does what a batch may decompress to before
// the rest of it is refused. What is held of a batch at a time is one record.
//
// # Positions
//
// A stream is "topic/partition#generation", a position's offset that of the next record.
// The generation tells topics apart that had one name after another: it is the topic's id,
// or, where the brokers have none, the record that was read last. Fetches name topics by
// their ids where brokers can do so. A position that the broker no longer has, or not yet
// again, or that is in another topic than there is now, is an [accumulator.DataLost] (M44);
// Skip tells where one can go on.
//
// # Concurrency
//
// A session's state belongs to the goroutine of Run. Each request has a goroutine, and the
// mirror has one; Run joins them. Durable, Skip, Seek and Lag may be called by any goroutine.
package kafka
