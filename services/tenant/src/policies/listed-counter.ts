import type { CallerLimit } from '../limits/caller-limits.ts';
import type { Policy } from './policy.ts';

/** A policy with the tenant of the listed counters; null for those of all. */
export interface CountersOf {
  tenantId: string | null;
  policy: Pick<Policy, 'id' | 'name' | 'per'>;
}

export interface CounterPage {
  limit: number;
  /** The beginning of a value, in any case; null for all. */
  q: string | null;
  sort: 'spent' | 'remaining';
  /** The last counter of the page before; null for the first page. */
  after: CounterPlace | null;
}

/** The place of a counter in the list: `key` is a number as text, which falls along the list. */
export interface CounterPlace {
  key: string;
  id: string;
}

/** A counter in its present window. */
export interface ListedCounter extends CounterPlace {
  tenantId: string;
  tenantSlug: string;
  tenantName: string;
  value: string;
  /** The spent pico-USD; null if the policy has no budget. */
  used: string | null;
  /** The budget in pico-USD; also null without one for this counter. */
  budget: string | null;
  reserved: bigint;
  resetsAt: Date | null;
  /** Those of requests, tokens and concurrency. */
  limits: readonly CallerLimit[];
}
