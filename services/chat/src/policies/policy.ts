import { createHmac, hash } from 'node:crypto';
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
  /** The key of the ids of its counters in the tenant. */
  counterKey: Buffer;
}

/** A counter of a policy: for one value of `per`, or for all runs, with an empty value. */
export interface PolicyCounter {
  /** A UUID. */
  id: string;
  policy: Policy;
  value: string;
  /** The user of the value, with the groups whose overrides count for it; null for other values. */
  user: { id: string; groups: readonly string[] } | null;
  /** The key of the request. */
  apiKeyId: string | null;
}

/** Whether a policy counts some models alone, or each apart. */
export function dependsOnModel({ per, select }: Policy): boolean {
  return per === 'model' || select.models !== undefined;
}

const maxValueLength = 256;

/**
 * The counter of a value; a long value is replaced by its hash. Its id is the same on every replica: a UUID of RFC 9562,
 * version 8, of a keyed hash (HMAC-SHA-256), since it outlives the deletion of a user's data.
 */
export function counterOf(
  policy: Policy,
  longValue: string,
  holder: Pick<PolicyCounter, 'user' | 'apiKeyId'>,
): PolicyCounter {
  const value = longValue.length <= maxValueLength ? longValue : `sha256:${hash('sha256', longValue)}`;
  const digest = createHmac('sha256', policy.counterKey).update(value).digest('hex');
  const variant = ((parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`];
  const id = [...parts, `${variant}${digest.slice(18, 20)}`, digest.slice(20, 32)].join('-');
  return { id, policy, value, ...holder };
}

/** A policy as the tenant service sends it, with the key of its counters in the tenant. */
export function policyOf(
  { id, name, per, limited, enforce, fromOwner, ...names }: PolicyMessage,
  counterKey: Buffer,
): Policy {
  const named = fields
    .filter((field) => names[field].length > 0)
    .map((field) => [field, names[field]] as const);
  return {
    ...{ id, name, limited, enforce },
    select: Object.fromEntries(named),
    per: pers.find((known) => known === per) ?? null,
    ...{ countsOwnKeys: !fromOwner, counterKey },
  };
}
