import { createHash } from 'node:crypto';
import type { WebhookDelivery } from '@gatehouse/contract/webhook-calls';
import { dayS } from '../bounds.ts';

/** The content of a delivery, and the object with its signing secret. */
export type DeliverySource =
  /** The result of a call. */
  | { kind: 'result'; callId: string; endpointId: string }
  /** An event, with its body. */
  | { kind: 'event'; eventId: string; subscriptionId: string; body: string };

/** Something to be sent to a URL of a tenant. */
export interface Delivery {
  id: string;
  tenantId: string;
  url: string;
  source: DeliverySource;
  /** Attempts so far. */
  attempts: number;
}

/** A delivery with its encrypted signing secrets: the second one during an overlap. */
export interface DueDelivery extends Delivery {
  secret: Buffer;
  previousSecret: Buffer | null;
  /** Names the claim: when it ends, as PostgreSQL writes it. */
  claim: string;
  /** By `monotonicMs`: later, the claim may be over before the attempt is. */
  sendBeforeMs: number;
}

/** A delivery as the log shows it. */
export interface LoggedDelivery {
  id: string;
  url: string;
  status: 'pending' | 'delivered' | 'failed';
  dueAt: Date | null;
  createdAt: Date;
  attempts: {
    number: number;
    at: string;
    duration_ms: number;
    status: number | null;
    error: string | null;
  }[];
}

/** Deliveries of a tenant to one origin. */
export interface OriginTarget {
  tenantId: string;
  /** As `targetOf` returns it. */
  target: string;
}

/** The outcome of one attempt. */
export interface Attempt {
  at: Date;
  durationMs: number;
  /** The status of the response; null without one. */
  status: number | null;
  /** The reason for a missing response. */
  error: string | null;
  /** How long the receiver asks to wait. */
  retryAfterS: number | null;
  /** Whether the receiver is a gateway that refuses the delivery because it was sent on too often. */
  exceedsHops: boolean;
}

/** The next step after an attempt. */
export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'retry'; afterS: number }
  /** `hops`: a loop of endpoints has come to its end, which says nothing of the receiver. */
  | { kind: 'failed'; because: 'gone' | 'given_up' | 'hops' };

/** Seconds after each failed attempt until the next one: Svix's schedule, together 27.6 hours. */
const scheduleS = [5, 5 * 60, 30 * 60, 2 * 3_600, 5 * 3_600, 10 * 3_600, 10 * 3_600];
/** The random share of a delay: receivers don't get everything at once after an outage. */
const jitter = 0.2;

/**
 * Decides by the response: 2xx is delivered, 410 asks for no more deliveries, beyond the hops another attempt gets the
 * same answer, and everything else is tried again.
 */
export function verdictOf(
  attempt: Attempt,
  { attempts }: { attempts: number },
  random = Math.random,
): Verdict {
  const { status, retryAfterS, exceedsHops } = attempt;
  if (status !== null && status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'failed', because: 'gone' };
  if (exceedsHops) return { kind: 'failed', because: 'hops' };
  const delayS = scheduleS[attempts];
  if (delayS === undefined) return { kind: 'failed', because: 'given_up' };
  const jittered = delayS * (1 + jitter * random());
  return { kind: 'retry', afterS: Math.max(jittered, Math.min(retryAfterS ?? 0, dayS)) };
}

/** `Retry-After` (RFC 9110 §10.2.3): seconds, or a date. */
export function retryAfterS(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = / GMT$/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, (at - now.getTime()) / 1_000);
}

/** Deliveries of a tenant to one origin wait for each other. */
export function targetOf(url: string): string {
  return createHash('sha256').update(new URL(url).origin).digest('hex').slice(0, 32);
}

/** A delivery as clients see it. */
export function showDelivery({
  id,
  url,
  status,
  dueAt,
  createdAt,
  attempts,
}: LoggedDelivery): WebhookDelivery {
  return {
    id,
    url,
    status,
    next_attempt_at: dueAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    attempts: attempts.map(({ at, ...attempt }) => ({ ...attempt, at: new Date(at).toISOString() })),
  };
}
