/**
 * Into how many partitions outboxes and topics are divided, by tenant; `chat.partition_of` says the same. A partition
 * of the outbox is published to the partition of the topic with its number, so that a watermark holds for all that lies
 * before it there.
 */
export const partitionCount = 8;
