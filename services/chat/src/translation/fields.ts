/** Values of JSON of unknown types. */

export function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function booleanIn(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
