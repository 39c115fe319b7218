import { parseShape, readEvent, type CloudEvent } from '@gatehouse/events/cloud-event';
import type { Received } from '@gatehouse/events/dead-letters';
import {
  runCorrected,
  runEnded,
  runEndedData,
  runStarted,
  runStartedData,
  type RunEnded,
  type RunStarted,
} from '@gatehouse/events/run-event';
import { requestsRefused, requestsRefusedData, type RequestsRefused } from '@gatehouse/events/refused-event';
import type { z } from 'zod';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { watermarkData, watermarkType, type Watermark } from '@gatehouse/events/watermark';

export type RunEvent<Run = RunStarted | RunEnded> = { received: Received; run: Run };

/** Counts of refused requests. */
export interface RefusalEvent {
  received: Received;
  refused: RequestsRefused;
}

export interface ReadEvents {
  /** One event per run: its end, if the batch has it. No event of a run in `corrections`. */
  runs: RunEvent[];
  /** Exact ends of runs with an estimated first end, one per run. */
  corrections: RunEvent<RunEnded>[];
  /** The latest watermark of each partition. */
  watermarks: (Watermark & { source: string })[];
  refusals: RefusalEvent[];
  rejected: { received: Received; reason: string }[];
}

/** Separates the storable events of a batch from the unreadable ones. Skips event types of other services. */
export function readEvents(batch: readonly Received[]): ReadEvents {
  const runs = new Map<string, RunEvent>();
  const corrections = new Map<string, RunEvent<RunEnded>>();
  const watermarks = new Map<string, Watermark & { source: string }>();
  const refusals: RefusalEvent[] = [];
  const rejected: ReadEvents['rejected'] = [];
  for (const received of batch) {
    try {
      const event = received.object ?? eventIn(received);
      const shapeOf = received.isChecked === true ? asWritten : parseShape;
      if (event.type === runEnded) {
        const run = shapeOf(runEndedData, event.data, 'not the end of a run');
        // Only the first end of a run counts.
        if (!isEnd(runs.get(run.run_id)?.run)) runs.set(run.run_id, { received, run });
      } else if (event.type === runCorrected) {
        const run = shapeOf(runEndedData, event.data, 'not the end of a run');
        corrections.set(run.run_id, { received, run });
      } else if (event.type === runStarted) {
        const run = shapeOf(runStartedData, event.data, 'not the start of a run');
        if (!runs.has(run.run_id)) runs.set(run.run_id, { received, run });
      } else if (event.type === requestsRefused) {
        const refused = shapeOf(requestsRefusedData, event.data, 'not counts of refused requests');
        refusals.push({ received, refused });
      } else if (event.type === watermarkType) {
        const data = shapeOf(watermarkData, event.data, 'not a watermark');
        watermarks.set(cacheKey(event.source, data.partition), { ...data, source: event.source });
      }
    } catch (error) {
      rejected.push({ received, reason: (error as Error).message });
    }
  }
  for (const id of corrections.keys()) runs.delete(id);
  return {
    runs: [...runs.values()],
    corrections: [...corrections.values()],
    watermarks: [...watermarks.values()],
    refusals,
    rejected,
  };
}

function eventIn({ payload, isChecked }: Received): Pick<CloudEvent, 'type' | 'source' | 'data'> {
  const text = payload.toString('utf8');
  return isChecked === true ? (JSON.parse(text) as CloudEvent) : readEvent(text);
}

/** In place of `parseShape`, for events written in this process: these checks take as long as all else of an event. */
function asWritten<Shape extends z.ZodType>(_shape: Shape, value: unknown): z.output<Shape> {
  return value as z.output<Shape>;
}

function isEnd(run: RunStarted | RunEnded | undefined): boolean {
  return run !== undefined && 'ended_at' in run;
}
