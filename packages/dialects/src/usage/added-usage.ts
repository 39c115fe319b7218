import { isFields } from '@gatehouse/kit/fields';

/** More than any usage has. */
const maxNames = 64;

/** Adds the numbers of usage objects, member by member: the first 64 of each, whatever servers send. */
export function addedUsage(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  if (!isFields(one) || !isFields(other)) return one ?? other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].slice(0, maxNames).map((name) => [name, addedUsage(one[name], other[name])]),
  );
}
