/** Whether a name is one of an IANA time zone, in any case: `Europe/Berlin`. */
export function isTimezone(name: string): boolean {
  try {
    return name.length <= 64 && new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    return false;
  }
}
