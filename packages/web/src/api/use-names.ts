import { useEffect, useState } from 'preact/hooks';
import { mostNames } from '../bounds.ts';
import { call } from './call.ts';

/** Names of resources by their ids. */
export type Names = ReadonlyMap<string, string>;

const sources = {
  agent: 'GET /v1/agents',
  api_key: 'GET /v1/api-keys',
  tenant: 'GET /internal/v1/owner/tenants',
  owner_key: 'GET /internal/v1/owner/api-keys',
} as const;
export type NamedKind = keyof typeof sources;

const noNames: Names = new Map();
const pageSize = 200;

/**
 * Names of all agents, keys or tenants, up to a bound; empty until they have come, without the right to list them, and
 * for a null kind. Pages then show ids.
 */
export function useNames(kind: NamedKind | null): Names {
  const [names, setNames] = useState<Names>(noNames);
  useEffect(() => {
    if (kind === null) return undefined;
    const leaving = new AbortController();
    namesOf(kind, leaving.signal).then(setNames, () => {
      // The ids say as much, and the error of the page's own answer is shown.
    });
    return () => leaving.abort();
  }, [kind]);
  return names;
}

async function namesOf(kind: NamedKind, signal: AbortSignal): Promise<Names> {
  const names = new Map<string, string>();
  for (let cursor: string | null = ''; cursor !== null && names.size < mostNames;) {
    const query: Record<'limit' | 'cursor', string> = { limit: String(pageSize), cursor };
    const page = await call(sources[kind], { query }, { signal });
    for (const { id, name } of page.data) names.set(id, name);
    cursor = page.has_more ? page.next_cursor : null;
  }
  return names;
}
