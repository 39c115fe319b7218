import { z } from 'zod';
import { writeEvent } from './cloud-event.ts';

const maxPartitions = 1_024;
export const watermarkType = 'gatehouse.watermark';

/**
 * Says that everything of a partition that happened before a time has been published before this event. Whoever has
 * handled it has handled all of that.
 */
export const watermarkData = z.object({
  partition: z.int().min(0).max(maxPartitions),
  /** How many partitions there are: the whole source is known up to the least of that many watermarks. */
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
