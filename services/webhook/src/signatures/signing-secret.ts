import { randomBytes } from 'node:crypto';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { AppError } from '@gatehouse/kit/errors';
import { schemes } from './schemes.ts';

const secretBytes = 32;

/** A new secret of Standard Webhooks. */
export function newStandardSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`;
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
  if (scheme === 'token') return `gwh_${randomBytes(secretBytes).toString('base64url')}`;
  if (scheme === 'standard') return newStandardSecret();
  if (!schemes[scheme].takesSecret) return randomBytes(secretBytes).toString('base64url');
  throw new AppError(
    'missing_required_parameter',
    `Senders of the scheme ${scheme} make their own secrets: send it as secret.`,
    { param: 'secret' },
  );
}
