import { signatureId } from './signatures-in.ts';

/**
 * Says how many of the signatures of a request, in their order, are not sent: all up to the last one that no account of
 * the provider could read. Those behind it are of answers since then.
 */
export type CountUnreadable = (signatures: readonly string[]) => number;

/** The choice of reasoning that a provider gets of a client's conversation. */
export interface ReasoningFilter {
  /** Whether translation comes next, which reads its own marks of signatures. */
  isTranslated?: boolean;
  /** Filters reasoning signatures; omitted: all unmarked ones pass. */
  keepsSignature?: (signature: unknown) => boolean;
  /** Absent where all signatures are sent, or translation comes next. */
  countUnreadable?: CountUnreadable | undefined;
  /** Receives the client's names of what is taken out beside reasoning, which goes to its vendor or nowhere. */
  onDropped?: (name: string) => void;
}

/**
 * The beginnings of signatures of reasoning put by translation into the API of a client. They go back to their origin
 * by translation, and to no provider of the client's own API.
 */
export const signatureMark = 'gatehouse.';

/**
 * Google's documented stand-in for the signature of another model's thought
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
export const standIn = 'skip_thought_signature_validator';

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

/** Filters the signatures of a request, as they stand in it: whether a provider gets each of them. */
export function signatureFilter(
  signatures: readonly string[],
  rewrite: ReasoningFilter,
): (signature: string) => boolean {
  const passed = signatures.filter((signature) => isKept(signature, rewrite));
  const unreadable = new Set(passed.slice(0, rewrite.countUnreadable?.(passed) ?? 0));
  return (signature) => !unreadable.has(signature) && isKept(signature, rewrite);
}
