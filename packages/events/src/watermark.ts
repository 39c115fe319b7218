import { z } from 'zod';
import { writeEvent } from './cloud-event.ts';

const maxPartitions = 1_024;
export const watermarkType = 'gatehouse.watermark';

/**
 * States the earlier publication of everything older than a time in a partition. A consumer past the watermark has
 * handled all of it.
 */
export const watermarkData = z.object({
  partition: z.int().min(0).max(maxPartitions),
  /** The number of partitions of the source. The source is complete up to the smallest watermark of all partitions. */
  partitions: z.int().min(1).max(maxPartitions),
  watermark: z.iso.datetime({ offset: true }).max(40),
});
export type Watermark = z.output<typeof watermarkData>;

export function writeWatermark(source: string, data: Watermark): string {
  return writeEvent({
    id: `watermark-${data.partition}-${data.watermark}`,
    source,
    type: watermarkType,
    time: data.watermark,
    subject: `partition ${data.partition}`,
    partitionkey: String(data.partition),
    data,
  });
}
