/** A number never looks like a formula, and null is an empty field, unlike an empty text. */
export type Cell = string | number | null;

/**
 * The first characters of text a spreadsheet may run as a formula (OWASP, CSV injection): some skip a line feed, and
 * some read the wide forms of East Asian keyboards as the others.
 */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/**
 * The byte order mark at the begin of a file, without which Excel takes UTF-8 for the character set of its country
 * (https://support.microsoft.com/office/8a935af5-3416-4edd-ba7e-3dfd2bc4a032).
 */
export const csvMark = '\ufeff';

/** A line of CSV (RFC 4180). Text looking like a formula gets an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\r\n`;
}

/** A table as CSV. */
export function csvOf(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map(csvLine).join('');
}

function field(cell: Cell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const safe = formulaStart.test(cell) ? `'${cell}` : cell;
  return safe === '' || /[",\r\n]/.test(safe) ? `"${withDoubledQuotes(safe)}"` : safe;
}

const shortChars = 4_096;
const quote = 0x22;

/** Long text goes by bytes: a million quotes, as JSON may have them, take 10 ms so, and 200 ms with `replaceAll`. */
function withDoubledQuotes(text: string): string {
  if (text.length <= shortChars) return text.replaceAll('"', '""');
  const bytes = new TextEncoder().encode(text);
  const doubled = new Uint8Array(2 * bytes.length);
  let end = 0;
  // Three times as fast as iterating.
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    doubled[end++] = byte;
    if (byte === quote) doubled[end++] = quote;
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(doubled.subarray(0, end));
}
