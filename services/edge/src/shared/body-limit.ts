import type { Route } from '@gatehouse/contract/routes';

/** A body that comes with a route which defines none is passed on, up to this size. */
const leastBodyLimit = 1024 * 1024;

export function bodyLimitOf({ bodyLimit }: Route): number {
  return Math.max(bodyLimit, leastBodyLimit);
}
