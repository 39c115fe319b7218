import { signatureId } from './signatures-in.ts';

/** The choice of reasoning that a provider gets of a client's conversation. */
export interface ReasoningFilter {
  /** Whether translation comes next, which reads its own marks of signatures. */
  isTranslated?: boolean;
  /** Filters reasoning signatures; omitted: all unmarked ones pass. */
  keepsSignature?: (signature: unknown) => boolean;
  /** Receives the client's names of parts that are taken out. */
  onDropped?: (name: string) => void;
}

/**
 * The beginnings of signatures of reasoning put by translation into the API of a client. They go back to their origin
 * by translation, and to no provider of the client's own API.
 */
export const signatureMark = 'gatehouse.';

/** Beginning of the encrypted summaries, which the gateway opens itself. */
export const summaryMark = `${signatureMark}summary.`;

/** The beginning of a mark in base64, in either alphabet: signatures of Google's API are bytes. */
const encodedMark = 'Z2F0ZWhvdXNlL';

export function isMarked(signature: unknown): boolean {
  return (
    typeof signature === 'string' &&
    (signature.startsWith(signatureMark) || signature.startsWith(encodedMark))
  );
}

/** Enough of a signature to decide where it goes; null without one. */
export function signatureTextIn(signature: unknown): string | null {
  return isMarked(signature) ? signatureMark : signatureId(signature);
}

/**
 * Whether a provider gets a signature of the client. Translation reads the marked ones, and keeps those of its target's
 * origin.
 */
export function isKept(signature: string, { isTranslated, keepsSignature }: ReasoningFilter): boolean {
  return isMarked(signature) ? isTranslated === true : keepsSignature?.(signature) !== false;
}
