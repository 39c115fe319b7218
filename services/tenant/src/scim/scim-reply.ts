import { scimMediaType, type ScimListQuery } from '@gatehouse/contract/scim';
import type { BaseDependencies } from '../shared/base-dependencies.ts';
import { maxPage } from './discovery.ts';
import type { Resource } from './scim-view.ts';

export type ScimDependencies = Pick<BaseDependencies, 'app' | 'keyRing' | 'changes'>;

/** The answer with a resource. */
export function resourceReply(body: Resource | undefined): {
  body: Resource | undefined;
  headers: Record<string, string>;
} {
  return { body, headers: { 'content-type': scimMediaType } };
}

/** The page of a list, and the filter; an empty one is none. */
export function pageOf({ startIndex, count, filter }: ScimListQuery): {
  offset: number;
  limit: number;
  filter: string | null;
} {
  return {
    offset: Math.max(startIndex, 1) - 1,
    limit: Math.min(Math.max(count, 0), maxPage),
    filter: filter === undefined || filter.trim() === '' ? null : filter,
  };
}
