/** A value as the name of a session; null if it is none. */
export function sessionNamed(value: unknown): string | null {
  return typeof value === 'string' && /^[\x20-\x7e]{1,255}$/.test(value) ? value : null;
}
