import { isFields, type Fields } from '@gatehouse/kit/fields';
import { addedUsage } from '../usage/added-usage.ts';
import { modalitiesIn } from './responses.ts';

/** Adds two `usageMetadata`, tokens of each modality among themselves. */
export function addedMetadata(one: unknown, other: unknown): unknown {
  const sum = addedUsage(one, other);
  if (!isFields(one) || !isFields(other) || !isFields(sum)) return sum;
  const lists = Object.keys(sum).filter((name) => Array.isArray(sum[name]));
  return {
    ...sum,
    ...Object.fromEntries(lists.map((name) => [name, addedModalities(one[name], other[name])])),
  };
}

function addedModalities(...lists: readonly unknown[]): Fields[] {
  const sums = new Map<unknown, Fields>();
  for (const entry of lists.flatMap(modalitiesIn)) {
    const { modality, tokenCount } = entry;
    const before = sums.get(modality)?.['tokenCount'] ?? 0;
    sums.set(modality, { ...entry, tokenCount: addedUsage(before, tokenCount) });
  }
  return [...sums.values()];
}
