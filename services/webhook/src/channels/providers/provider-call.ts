import type { EgressResponse } from '@gatehouse/egress/egress';
import { z } from 'zod';
import { retryAfterS } from '../../deliveries/delivery.ts';
import type { Sent, Egresses } from '../adapter.ts';
import { attemptMs, pauseS } from '../../bounds.ts';

/** Posts JSON to a provider, and returns its answer as `shape`; null if it does not fit. */
export async function postJson<Shape extends z.ZodType>(
  { provider }: Egresses,
  { url, body, headers = {}, shape }: ProviderCall<Shape>,
): Promise<{ response: EgressResponse; answer: z.output<Shape> | null }> {
  const response = await provider({
    method: 'POST',
    url: new URL(url),
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(JSON.stringify(body)),
    timeoutMs: attemptMs,
  });
  return { response, answer: shape.safeParse(parseOrNull(response.body)).data ?? null };
}

export interface ProviderCall<Shape extends z.ZodType> {
  url: string;
  body: object;
  headers?: Record<string, string>;
  shape: Shape;
}

/** The JSON of a body; null for anything else. */
export function parseOrNull(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}

/** How long to leave a limiting provider alone. */
export function pausedBy({ headers }: EgressResponse, seconds?: number): Extract<Sent, { kind: 'paused' }> {
  return {
    kind: 'paused',
    afterS: Math.max(1, seconds ?? retryAfterS(headers['retry-after'], new Date()) ?? pauseS),
  };
}

/**
 * A member of an event, possibly absent or of any other kind: providers send many events by one URL, with different
 * members of the same name. Read as undefined unless it has the shape.
 */
export function lenient<Shape extends z.ZodType>(shape: Shape) {
  return shape.optional().catch(undefined);
}

/** A setting: the address of a provider's API, without a slash at its end. */
export const providerUrl = (url: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(url)
    .transform((address) => address.replace(/\/+$/, ''));
