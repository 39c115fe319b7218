/**
 * Most IANA names have the form `Area/Location`. Many of the other names mean one time here and another in PostgreSQL.
 */
const inFolder = /^(?!systemv\/)[a-z][\w+-]*\/[\w+/-]+$/i;
const others = new Set(['utc', 'gmt', 'zulu']);

/** The form of the names of time zones, as far as documents can express it. */
export const timezonePattern =
  '^([A-Za-z][A-Za-z0-9_+-]*/[A-Za-z0-9_+/-]+|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[Zz][Uu][Ll][Uu])$';

/**
 * Whether a name is an IANA time zone, in any case: `Europe/Berlin`, `UTC`. Rejects offsets (`+05:30`) and
 * abbreviations (`IST`), which JavaScript and PostgreSQL interpret differently. PostgreSQL lacks some accepted names
 * (`US/Pacific-New`), so services calculating with a zone also check it there.
 */
export function isTimezone(name: string): boolean {
  if (name.length > 64 || !(inFolder.test(name) || others.has(name.toLowerCase()))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}
