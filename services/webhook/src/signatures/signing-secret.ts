import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { AppError } from '@gatehouse/kit/errors';
import { schemes, standardKey } from './schemes.ts';

/** A new secret of Standard Webhooks. */
export function newStandardSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The secret of an endpoint: the given one, or a new one. Throws a 400 if the scheme can't use it, or needs one. */
export function secretFor(scheme: WebhookScheme, provided: string | undefined, param = 'secret'): string {
  if (provided === undefined) return newSecret(scheme);
  if (scheme === 'token')
    throw new AppError('invalid_value', 'A token is made by the gateway: leave out secret.', { param });
  try {
    schemes[scheme].keyOf(provided);
  } catch (error) {
    throw new AppError('invalid_value', `${param} must be whsec_ and the base64 of 24 to 64 bytes.`, {
      param,
      cause: error,
    });
  }
  return provided;
}

function newSecret(scheme: WebhookScheme): string {
  if (scheme === 'token') return `gwh_${randomBytes(32).toString('base64url')}`;
  if (scheme === 'standard') return newStandardSecret();
  if (!schemes[scheme].takesSecret) return randomBytes(32).toString('base64url');
  throw new AppError(
    'missing_required_parameter',
    `Senders of the scheme ${scheme} make their own secrets: send it as secret.`,
    { param: 'secret' },
  );
}

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
