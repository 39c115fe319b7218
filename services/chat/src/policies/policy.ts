import type { Policy as PolicyMessage, Resource } from '@gatehouse/proto/tenant/v1/tenant';

/** The properties of a run by which a policy may select. */
export const fields = ['users', 'groups', 'agents', 'apiKeys', 'models'] as const;
export type Field = (typeof fields)[number];

/** Each of its values has a counter of its own. */
export type Per = (typeof pers)[number];
export const pers = ['user', 'group', 'agent', 'api_key', 'session', 'model'] as const;

/** An enabled policy of a tenant, or of the owner for it. */
export interface Policy {
  id: string;
  name: string;
  /** Names and patterns by field; fields without any are absent. */
  select: Readonly<Partial<Record<Field, readonly string[]>>>;
  per: Per | null;
  /** The resources limited by it or by one of its overrides. */
  limited: readonly Resource[];
  /** False: its budget counts what has ended and refuses nothing. */
  enforce: boolean;
  /** Whether it counts runs on the tenant's own provider keys. */
  countsOwnKeys: boolean;
}

/** A counter of a policy: for one value of `per`, or for all runs, with an empty value. */
export interface Counter {
  policy: Policy;
  value: string;
}

/** A policy as the tenant service sends it. */
export function policyOf({ id, name, per, limited, enforce, fromOwner, ...names }: PolicyMessage): Policy {
  const named = fields
    .filter((field) => names[field].length > 0)
    .map((field) => [field, names[field]] as const);
  return {
    ...{ id, name, limited, enforce },
    select: Object.fromEntries(named),
    per: pers.find((known) => known === per) ?? null,
    countsOwnKeys: !fromOwner,
  };
}
