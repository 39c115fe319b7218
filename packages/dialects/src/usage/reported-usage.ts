import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxBilledSamplings, maxUsageEntries, maxUsageNames, maxUsageChars } from '../bounds.ts';

/** Usage as providers write it: objects of figures, some of them in an object or a list by modality of their own. */

/** Adds the figures of two reports, member by member: the first 64 of each, whatever servers send. */
export function sumReports(one: unknown, other: unknown): unknown {
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  if (Array.isArray(one) && Array.isArray(other))
    return sumModalities(one, other) ?? iterationsIn([...(one as unknown[]), ...(other as unknown[])]);
  if (!isFields(one) || !isFields(other)) return one ?? other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].slice(0, maxUsageNames).map((name) => [name, sumReports(one[name], other[name])]),
  );
}

function sumModalities(...lists: readonly unknown[]): Fields[] | null {
  const sums = new Map<unknown, Fields>();
  for (const { modality, tokenCount } of lists.flatMap(modalitiesIn)) {
    const before = sums.get(modality)?.['tokenCount'] ?? 0;
    sums.set(modality, { modality, tokenCount: sumReports(before, tokenCount) });
  }
  return sums.size === 0 ? null : [...sums.values()];
}

/**
 * The usage of a stream after a further report. Reports are cumulative, and the newest figures count, but for zeros:
 * some servers report input at the beginning and output at the end, or zeros in the last event. Other lists, long texts
 * and names beyond `maxUsageNames` are left out, so no number of reports makes it large.
 */
export function latestReport(before: Fields, now: unknown, isNested = false): Fields {
  if (!isFields(now)) return before;
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(now)) {
    const known = merged.get(name);
    if (name === '__proto__' || (known === undefined && merged.size >= maxUsageNames)) continue;
    if (isFields(value) && !isNested)
      merged.set(name, latestReport(isFields(known) ? known : {}, value, true));
    else if (Array.isArray(value) && modalitiesIn(value).length > 0) merged.set(name, modalitiesIn(value));
    else if (name === 'iterations' && Array.isArray(value) && !isNested)
      merged.set(name, iterationsIn(value));
    else if (isFigure(value) && (known === undefined || known === null || (value !== null && value !== 0)))
      merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** Google's `ModalityTokenCount`s, by which tokens have prices. */
function modalitiesIn(value: unknown): Fields[] {
  return listOf(value)
    .slice(0, maxUsageEntries)
    .filter(isFields)
    .filter(
      ({ modality, tokenCount }) =>
        typeof modality === 'string' && isFigure(modality) && isFigure(tokenCount),
    )
    .map(({ modality, tokenCount }) => ({ modality, tokenCount }));
}

const billedTypes: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);

/**
 * Anthropic's samplings billed beside the totals of their call, up to 1,000, anywhere in its list
 * (https://platform.claude.com/docs/en/build-with-claude/compaction).
 */
export function billedIterations(value: unknown): Fields[] {
  const billed: Fields[] = [];
  for (const each of listOf(value)) {
    if (!isFields(each) || !billedTypes.has(each['type'])) continue;
    if (billed.push(each) === maxBilledSamplings) break;
  }
  return billed;
}

/** The billed samplings, each with figures of its own. */
function iterationsIn(value: unknown[]): Fields[] {
  return billedIterations(value).map(({ cache_creation: split, ...figures }) => ({
    ...latestReport({}, figures, true),
    ...(isFields(split) && { cache_creation: latestReport({}, split, true) }),
  }));
}

function isFigure(value: unknown): boolean {
  return typeof value === 'string'
    ? value.length <= maxUsageChars
    : typeof value !== 'object' || value === null;
}
