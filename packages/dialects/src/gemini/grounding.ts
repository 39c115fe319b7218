import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ToolCalls } from '../usage/usage.ts';
import { isNamed, objectsIn, valueOf } from './fields.ts';

export const metadataNames = ['groundingMetadata', 'grounding_metadata'];

/** The queries for which Google's own search was called for a candidate. */
export function searchesIn(candidate: Fields): number {
  const metadata = valueOf(candidate, 'groundingMetadata');
  return isFields(metadata) ? listOf(valueOf(metadata, 'webSearchQueries')).length : 0;
}

/** Tools without a fee beside their tokens. */
const withoutFee = new Set([
  'functionDeclarations',
  'codeExecution',
  'urlContext',
  'computerUse',
  'fileSearch',
]);
const searches = new Set(['googleSearch', 'googleSearchRetrieval', 'enterpriseWebSearch']);

/** The tools of a request with a fee, each by its type for billing. */
export function* toolTypesIn(fields: Fields): Generator<Fields> {
  for (const tool of objectsIn(fields, 'tools'))
    for (const [name, value] of Object.entries(tool)) {
      const isOf = (names: ReadonlySet<string>): boolean => [...names].some((each) => isNamed(name, each));
      if (value !== null && !isOf(withoutFee)) yield { type: isOf(searches) ? 'web_search' : name };
    }
}

/** Google bills each query. */
export function searchCalls(queries: Iterable<number>): ToolCalls {
  const count = [...queries].reduce((sum, each) => sum + each, 0);
  return count > 0 ? { web_search: count } : {};
}
