/**
 * Whether a URL may be a credential by itself: it has a user, a query or a fragment, or a part of its path looks like a
 * token. Rather a variable too many than a token in a repository.
 */
export function mayHoldSecret(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash, pathname } = new URL(text);
  return `${username}${password}${search}${hash}` !== '' || pathname.split('/').some(looksRandom);
}

/** A URL for a message, without what may be secret. */
export function withoutSecret(text: string): string {
  return mayHoldSecret(text) ? `${new URL(text).origin}/…` : text;
}

const shortestToken = 8;
/** A word as in `events`, `apiKeys` and `v2`, or a number. */
const word = /^[A-Za-z]?[a-z]{0,15}(?:[A-Z][a-z]{2,15}){0,3}\d{0,4}$/;

function looksRandom(segment: string): boolean {
  return segment.length >= shortestToken && !segment.split(/[-_.~]/).every((part) => word.test(part));
}
