/** The changed members of a body: others may have been changed elsewhere. */
export function changesOf<Body extends object>(before: Body, after: Body): Partial<Body> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(old.get(name)) !== JSON.stringify(value),
  );
  // Its members are those of `after`.
  return Object.fromEntries(changed) as Partial<Body>;
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
