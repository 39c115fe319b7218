import type { SecretPlace, WebhookSecrets } from './webhook-secrets.ts';
import { dayS } from '../bounds.ts';

/** How a secret is replaced. */
export interface Rotation {
  /** The new one, encrypted; null without one. */
  sealed: Buffer | null;
  /** How long the old one is used beside it. Without a new one, it ends earlier than it would; null leaves it. */
  overlapS: number | null;
}

/** The rotation in a patch. A repeated secret is no new one: a repeat of a request ends no overlap. */
export function rotationOf(
  secrets: WebhookSecrets,
  place: SecretPlace,
  {
    current,
    next,
    overlapS,
    defaultS = dayS,
  }: { current: Buffer; next: string | undefined; overlapS: number | undefined; defaultS?: number },
): Rotation {
  if (next === undefined || secrets.isSame(place, current, next))
    return { sealed: null, overlapS: overlapS ?? null };
  return { sealed: secrets.seal(place, next), overlapS: overlapS ?? defaultS };
}
