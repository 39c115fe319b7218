/**
 * Whether a text matches a pattern, as `parsePattern` returns it, in which each `*` stands for any text. Takes linear
 * time for each `*`, and makes no copies: a request may be compared with thousands of patterns.
 */
export function matchesPattern(pattern: readonly string[], text: string): boolean {
  const [head = ''] = pattern;
  const last = pattern.length - 1;
  if (last < 1) return text === head;
  const tail = pattern[last] ?? '';
  const end = text.length - tail.length;
  if (head.length > end || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let from = head.length;
  for (let index = 1; index < last; index += 1) {
    const part = pattern[index] ?? '';
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

/** The texts around the stars of a pattern; null for a name without one. */
export function parsePattern(entry: string): readonly string[] | null {
  return entry.includes('*') ? entry.split('*') : null;
}
