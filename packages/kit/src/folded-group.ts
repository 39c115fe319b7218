/** The name of a group as all its spellings have it: NFC, in lower case. Counters and overrides have it in this form. */
export function foldedGroup(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
