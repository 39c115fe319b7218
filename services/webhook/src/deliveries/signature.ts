import { createHmac } from 'node:crypto';
import { standardKey } from '../inbound/schemes.ts';

/** The headers of Standard Webhooks 1.0.0. `id` stays the same over attempts, `at` is the time of this one. */
export function standardHeaders(
  secret: string,
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signature = createHmac('sha256', standardKey(secret))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
