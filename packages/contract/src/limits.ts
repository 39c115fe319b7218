import { z } from 'zod';
import { utcTime } from './fields.ts';

/** Limits and budgets, as `GET /v1/limits` tells of them (contract §2, §4). */

const count = z.int();
const usdAmount = z.string();

export const limitState = z.strictObject({
  resource: z.enum(['requests', 'tokens', 'concurrency', 'budget']),
  /** Null for requests at a time. */
  window: z.enum(['minute', 'day', 'month']).nullable(),
  /** Counts are numbers, and amounts of money decimal text in USD. */
  limit: z.union([count, usdAmount]),
  /** Includes what is reserved for requests under way. */
  used: z.union([count, usdAmount]),
  remaining: z.union([count, usdAmount]),
  resets_at: utcTime.nullable(),
});
export type LimitState = z.output<typeof limitState>;

export const limitList = z.strictObject({ limits: z.array(limitState) });
