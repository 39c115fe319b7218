/** Parses a session id; null otherwise. */
export function sessionNamed(value: unknown): string | null {
  return typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value) ? value : null;
}

/** More than any client sends before the first message of its user. */
const maxFirst = 64;

/** The elements up to and with the first one of the user, the last of them if they are too many; none without one. */
export function throughFirst<Element>(
  elements: readonly Element[],
  isOfUser: (element: Element) => boolean,
): readonly Element[] {
  const end = elements.findIndex(isOfUser) + 1;
  return elements.slice(Math.max(0, end - maxFirst), end);
}
