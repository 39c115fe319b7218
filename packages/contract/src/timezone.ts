/**
 * Most IANA names have the form `Area/Location`. Of the other names, many mean one time here and another in PostgreSQL.
 */
const inFolder = /^(?!systemv\/)[a-z][\w+-]*\/[\w+/-]+$/i;
const others = new Set(['utc', 'gmt', 'zulu']);

/** Of the names of time zones, as documents can say it. */
export const timezonePattern =
  '^([A-Za-z][A-Za-z0-9_+-]*/[A-Za-z0-9_+/-]+|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[Zz][Uu][Ll][Uu])$';

/**
 * Whether a name is an IANA time zone, in any case: `Europe/Berlin`, `UTC`. Rejects offsets (`+05:30`) and
 * abbreviations (`IST`), which JavaScript and PostgreSQL interpret differently. PostgreSQL lacks some accepted names
 * (`US/Pacific-New`), so services that calculate with a zone also check it there.
 */
export function isTimezone(name: string): boolean {
  if (name.length > 64 || !(inFolder.test(name) || others.has(name.toLowerCase()))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}
