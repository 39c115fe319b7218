import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ToolCalls } from '../../usage/usage.ts';
import { valueOf } from './fields.ts';

export const metadataNames = ['groundingMetadata', 'grounding_metadata'];

/** The queries for which Google's own search was called for a candidate. */
export function searchesIn(candidate: Fields): number {
  const metadata = valueOf(candidate, 'groundingMetadata');
  return isFields(metadata) ? listOf(valueOf(metadata, 'webSearchQueries')).length : 0;
}

/** Google bills each query. */
export function searchCalls(queries: Iterable<number>): ToolCalls {
  const count = [...queries].reduce((sum, each) => sum + each, 0);
  return count > 0 ? { web_search: count } : {};
}
