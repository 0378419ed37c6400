// Package partitioner has the functions by which producers of Kafka deal keys to the partitions of a topic, as far as
// graphd has to deal keys as they do (M49): a shard whose keys are those of its partitions reads no others.
//
// Each of them is a whole number h of the key's bytes, and the partition is h modulo their number. A shard is the
// partition modulo the number of shards. Where the first number is a multiple of the second that is h modulo the number
// of shards, whatever the number of partitions is: so the shard of a key needs no topic to be asked, is the same for
// topics of 8 and of 64 partitions, and stays what it is when partitions are added, as long as they stay a multiple.
package partitioner
