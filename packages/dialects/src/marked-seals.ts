import type { Rewrite } from './dialect.ts';
import { sealId } from './seals-in.ts';

/**
 * How seals of thoughts begin that translation has put into the API of a client. They go back to their maker by translation,
 * and to no provider of the client's own API.
 */
export const sealMark = 'gatehouse.';

/** How seals of summaries begin, which the gateway opens itself. */
export const summaryMark = `${sealMark}summary.`;

/** The beginning of a mark in base64, in either alphabet: seals of Google's API are bytes. */
const encodedMark = 'Z2F0ZWhvdXNlL';

export function isMarked(seal: unknown): boolean {
  return typeof seal === 'string' && (seal.startsWith(sealMark) || seal.startsWith(encodedMark));
}

/** Enough of a seal to decide where it goes; null for none. */
export function sealTextIn(seal: unknown): string | null {
  return isMarked(seal) ? sealMark : sealId(seal);
}

/**
 * Whether a provider gets a seal of the client. Translation reads the marked ones, and keeps those of the maker that it
 * writes for.
 */
export function isKept(
  seal: string,
  { isTranslated, keepsSeal }: Pick<Rewrite, 'isTranslated' | 'keepsSeal'>,
): boolean {
  return isMarked(seal) ? isTranslated === true : keepsSeal?.(seal) !== false;
}
