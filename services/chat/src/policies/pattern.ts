/** Whether a text matches a pattern in which each `*` stands for any text. Takes linear time for each `*`. */
export function matchesPattern(pattern: readonly string[], text: string): boolean {
  const [head = '', ...rest] = pattern;
  const tail = rest.pop();
  if (tail === undefined) return text === head;
  const end = text.length - tail.length;
  if (head.length > end || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let from = head.length;
  for (const part of rest) {
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
