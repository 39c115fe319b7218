/** Whole areas of the IANA database are in folders; of its other names most mean one thing here, another in PostgreSQL. */
const inFolder = /^(?!systemv\/)[a-z][\w+-]*\/[\w+/-]+$/i;
const others = new Set(['utc', 'gmt', 'zulu']);

/**
 * Whether a name is one of an IANA time zone, in any case: `Europe/Berlin`, `UTC`. Offsets (`+05:30`) and abbreviations
 * (`IST`) are none: JavaScript and PostgreSQL take them for different times. PostgreSQL lacks some of the names that pass
 * here (`US/Pacific-New`): services that calculate with a zone check it there, too.
 */
export function isTimezone(name: string): boolean {
  if (name.length > 64 || !(inFolder.test(name) || others.has(name.toLowerCase()))) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}
