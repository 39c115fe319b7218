/**
 * Into how many partitions outboxes and topics are divided, by tenant; `chat.partition_of` says the same. A partition
 * of the outbox is published to the partition of the topic with its number, so that a watermark holds for all that lies
 * before it there.
 */
export const partitionCount = 8;

/** By the last digits of a UUIDv7, which are random. */
export function partitionOf(tenantId: string): number {
  return Number.parseInt(tenantId.slice(-8), 16) % partitionCount;
}
