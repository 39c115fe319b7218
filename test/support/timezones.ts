/** All zones that JavaScript lists, aliases of zones, and names that only JavaScript or only PostgreSQL accepts. */
export const timezoneNames: readonly string[] = [
  ...Intl.supportedValuesOf('timeZone'),
  'UTC',
  'US/Pacific-New',
  'US/Pacific',
  'Asia/Calcutta',
  'Europe/Kyiv',
  'europe/berlin',
  'AMERICA/NEW_YORK',
  'utc',
  'Zulu',
  'GMT',
  'GMT0',
  'Etc/GMT+5',
  'Etc/GMT-14',
  'Etc/UCT',
  'EST5EDT',
  'CST6CDT',
  'FOO+5',
  'FOO/BAR+5',
  '<+03>-3',
  'localtime',
  'posixrules',
  'posix/Europe/Berlin',
  'right/Europe/Berlin',
  'SystemV/EST5',
  'Factory',
  'America/Coyhaique',
  '../Europe/Berlin',
  'Europe/Berlin ',
  "Europe/Berlin'",
  '+05:30',
  '-03:00',
];

const lanes = 4;

/** The names in as many parts as are tried at once. */
export function inLanes(names: readonly string[]): string[][] {
  return Array.from({ length: lanes }, (_, lane) => names.filter((_name, n) => n % lanes === lane));
}
