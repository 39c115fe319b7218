export interface BatchLimits {
  items: number;
  bytes: number;
}

/**
 * Splits a list into batches within both limits, in order. An item larger than the byte limit is a batch of its own.
 */
export function inBatches<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limits: BatchLimits,
): Item[][] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let room = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (batches.length === 0 || bytes > room || batch.length === limits.items) {
      batch = [];
      batches.push(batch);
      room = limits.bytes;
    }
    batch.push(item);
    room -= bytes;
  }
  return batches;
}
