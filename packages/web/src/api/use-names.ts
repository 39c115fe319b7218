import { useMemo } from 'preact/hooks';
import { useItems } from './use-answer.ts';

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

/**
 * Names of all agents, keys or tenants, up to a bound; empty until they have come, without the right to list them, and
 * for a null kind. Pages then show ids.
 */
export function useNames(kind: NamedKind | null): Names {
  const { answer } = useItems(sources[kind ?? 'agent'], kind === null ? null : {});
  return useMemo(
    () => (answer === null ? noNames : new Map(answer.map(({ id, name }) => [id, name]))),
    [answer],
  );
}
