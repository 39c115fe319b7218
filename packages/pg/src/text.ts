/**
 * Text as PostgreSQL can hold it: NUL and lone surrogates, which its UTF-8 refuses, become U+FFFD. For text that came
 * from outside and is kept for people to read; never for text that must come back unchanged.
 */
export function toPgText(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').toWellFormed();
}
