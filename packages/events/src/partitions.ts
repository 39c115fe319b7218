/**
 * The number of partitions of outboxes and topics, divided by tenant; must match the SQL function `chat.partition_of`.
 * Partition n of an outbox is published to partition n of the topic, so a watermark covers everything before it in its
 * partition.
 */
export const partitionCount = 8;

/** Uses the last digits of a UUIDv7, which are random. */
export function partitionOf(tenantId: string): number {
  return Number.parseInt(tenantId.slice(-8), 16) % partitionCount;
}
