/**
 * The first `max` UTF-16 units of a text, without splitting a surrogate pair. The result is a copy: a substring would
 * keep the whole text in memory.
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max;
  return Buffer.from(text.slice(0, end), 'utf16le').toString('utf16le');
}

/** A text of at most `max` units without lone surrogates; a longer one ends with a note of the cut. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  return `${cutText(text, max - 100).toWellFormed()}\n[${text.length} characters, cut]`;
}
