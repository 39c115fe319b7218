import { isFields } from '@gatehouse/kit/fields';

/** Adds the numbers of usage objects, member by member. */
export function addedUsage(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  if (!isFields(one) || !isFields(other)) return one ?? other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, addedUsage(one[name], other[name])]));
}
