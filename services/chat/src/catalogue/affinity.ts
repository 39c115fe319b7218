import { hash } from 'node:crypto';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';

/** Longer system prompts may be the same in many sessions, so that the end of a text counts, too. */
const maxChars = 4_096;

/**
 * The name by which requests stay together at one deployment and one key, where the provider has their prompt in its
 * cache: those of one session of a tenant, else those with the same texts up to the first message of the user. Null for a
 * request with neither.
 */
export function affinityOf(
  tenantId: string,
  sessionId: string | null,
  request: Pick<CompletionRequest, 'firstTexts'>,
): string | null {
  if (sessionId !== null) return digest(cacheKey('session', tenantId, sessionId));
  const texts = request.firstTexts.flatMap((text) => [
    text.length,
    text.slice(0, maxChars),
    text.slice(Math.max(maxChars, text.length - maxChars)),
  ]);
  return texts.length === 0 ? null : digest(cacheKey('texts', tenantId, ...texts));
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
