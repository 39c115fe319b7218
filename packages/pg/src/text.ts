/**
 * Replaces NUL and lone surrogates, which PostgreSQL rejects, by U+FFFD. Use it for text from outside with people as
 * readers, not for text to be returned unchanged.
 */
export function toPgText(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').toWellFormed();
}
