import type { Operation } from '../operations.ts';

/** A kind of declarable thing, in the order in which they need each other. */
export interface Kind {
  /** Its list in a file. */
  name: string;
  path: string;
  /** The member identifying a declared thing with an existing one. */
  identity: string;
  /** Members the API takes and never shows: sent when the thing is made, and again with `--send-secrets`. */
  hidden: readonly string[];
  /** The members that some hidden ones stand in, by the names of these. */
  inner: Readonly<Record<string, string>>;
  /** Members taken by a creation only. */
  once: readonly string[];
  /** Members beside each creation and change, stored nowhere. */
  options: readonly string[];
  /** Members of the answer to a creation, shown this once. */
  secrets: readonly string[];
  canDelete: boolean;
  /** Whether `PUT` by the identity creates and changes a thing. There may be too many to list for a plan. */
  isPut: boolean;
}

const plain = {
  ...{ hidden: [], inner: {}, once: [], options: [], secrets: [] },
  ...{ canDelete: true, isPut: false },
};

export const kinds: readonly Kind[] = [
  {
    ...plain,
    name: 'tenants',
    path: '/internal/v1/owner/tenants',
    identity: 'slug',
    secrets: ['admin_key'],
    canDelete: false,
  },
  {
    ...plain,
    name: 'mcp_servers',
    path: '/v1/mcp/servers',
    identity: 'name',
    hidden: ['auth'],
    once: ['verify'],
  },
  { ...plain, name: 'agents', path: '/v1/agents', identity: 'key', options: ['allow_missing'] },
  { ...plain, name: 'toolsets', path: '/v1/toolsets', identity: 'name' },
  {
    ...plain,
    name: 'channels',
    path: '/v1/channels/instances',
    identity: 'name',
    hidden: ['credentials'],
    once: ['type'],
    secrets: ['secret'],
  },
  {
    ...plain,
    name: 'endpoints',
    path: '/v1/webhooks/endpoints',
    identity: 'name',
    once: ['secret', 'scheme'],
    secrets: ['secret', 'callback_secret'],
  },
  {
    ...plain,
    name: 'subscriptions',
    path: '/v1/webhooks/subscriptions',
    identity: 'url',
    secrets: ['secret'],
  },
  { ...plain, name: 'users', path: '/v1/users', identity: 'user_id', once: ['user_id'], isPut: true },
  { ...plain, name: 'policies', path: '/v1/policies', identity: 'name', once: ['per'] },
  {
    ...plain,
    name: 'guardrails',
    path: '/v1/guardrails',
    identity: 'name',
    hidden: ['auth'],
    inner: { auth: 'check' },
  },
  {
    ...plain,
    name: 'api_keys',
    path: '/v1/api-keys',
    identity: 'name',
    once: ['role', 'user_id', 'limits', 'budget', 'expires_at'],
    secrets: ['key'],
    canDelete: false,
  },
];

/** Member of an agent's metadata with the label of its set of declarations. */
export const labelMember = 'gatehouse_label';

/** The creation of things of a kind. */
export function creationOf(
  operations: readonly Operation[],
  { path, identity, isPut }: Kind,
): Operation | undefined {
  const [method, address] = isPut ? ['PUT', `${path}/{${identity}}`] : ['POST', path];
  return operations.find((each) => each.method === method && each.path === address);
}
