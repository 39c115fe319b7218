import { scimMediaType, type ScimListQuery } from '@gatehouse/contract/scim';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { maxPage } from './discovery.ts';
import { parseFilter, type Condition } from './scim-filter.ts';
import { scimList, type Resource } from './scim-view.ts';

export type ScimDependencies = Pick<BaseDependencies, 'app' | 'keyRing' | 'changes'>;

/** The answer with a resource. */
export function resourceReply(body: Resource | undefined): {
  body: Resource | undefined;
  headers: Record<string, string>;
} {
  return { body, headers: { 'content-type': scimMediaType } };
}

/** Resources of one kind, for a search. */
interface Searched<Row> {
  /** All matching the conditions of a filter. */
  matching: (conditions: readonly Condition[]) => Promise<readonly Row[]>;
  count: () => Promise<number>;
  page: (page: { offset: number; limit: number }) => Promise<readonly Row[]>;
  show: (rows: readonly Row[]) => Promise<Resource[]>;
}

/** The answer to a search: a page of all resources, or of those matching its filter. An empty filter is none. */
export async function searchReply<Row>(
  { startIndex, count, filter }: ScimListQuery,
  searched: Searched<Row>,
): Promise<ReturnType<typeof resourceReply>> {
  const offset = Math.max(startIndex, 1) - 1;
  const limit = Math.min(Math.max(count, 0), maxPage);
  const isFiltered = filter !== undefined && filter.trim() !== '';
  const matches = isFiltered ? await searched.matching(parseFilter(filter)) : null;
  const total = matches?.length ?? (await searched.count());
  const rows = matches?.slice(offset, offset + limit) ?? (await searched.page({ offset, limit }));
  return resourceReply(scimList(await searched.show(rows), { total, startIndex: offset + 1 }));
}
