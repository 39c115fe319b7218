/** The changed members of a body: others may have been changed elsewhere. */
export function changesOf<Body extends object>(before: Body, after: Body): Partial<Body> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(old.get(name)) !== JSON.stringify(value),
  );
  // Its members are those of `after`.
  return Object.fromEntries(changed) as Partial<Body>;
}

type Members = Readonly<Record<string, unknown>>;

/** The JSON merge patch (RFC 7396) from one object to the next: a missing member becomes null. */
export function mergePatchOf(before: Members, after: Members): Record<string, unknown> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names].flatMap((name): [string, unknown][] => {
      const [old, now] = [before[name], after[name]];
      if (now === undefined) return [[name, null]];
      if (JSON.stringify(old) === JSON.stringify(now)) return [];
      return [[name, isObject(old) && isObject(now) ? mergePatchOf(old, now) : now]];
    }),
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The lines of a field without white space around them, and without empty ones. */
export function trimmed(lines: readonly string[]): string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** A text, or null without one. */
export function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text;
}

/** A whole number of a field, or null without one. */
export function numberOrNull(digits: string): number | null {
  return digits === '' ? null : Number(digits);
}

/** A number or nothing as text of a field. */
export function fieldText(value: number | string | null | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}
