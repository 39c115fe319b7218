import { createHmac } from 'node:crypto';
import { standardKey } from './schemes.ts';

/**
 * The headers of Standard Webhooks 1.0.0, with a signature by each of `secrets`. `id` stays the same over attempts, `at` is the time of this
 * one.
 */
export function standardHeaders(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signatures = secrets.map((secret) =>
    createHmac('sha256', standardKey(secret)).update(`${id}.${timestamp}.${body}`).digest('base64'),
  );
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}
