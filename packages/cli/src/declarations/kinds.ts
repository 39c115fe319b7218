/** A kind of thing that can be declared, in the order in which they need each other. */
export interface Kind {
  /** Its list in a file. */
  name: string;
  path: string;
  /** The member by which a declared thing is the one that there is. */
  identity: string;
  /** Members that the API takes and never shows: they are sent when the thing is made, and again with `--send-secrets`. */
  hidden: readonly string[];
  /** Members that only a creation takes. */
  once: readonly string[];
  /** Members of the answer to a creation that are shown this once. */
  secrets: readonly string[];
  canChange: boolean;
  canDelete: boolean;
}

const plain = { hidden: [], once: [], secrets: [], canChange: true, canDelete: true };

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
  { ...plain, name: 'agents', path: '/v1/agents', identity: 'key' },
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
  {
    ...plain,
    name: 'api_keys',
    path: '/v1/api-keys',
    identity: 'name',
    secrets: ['key'],
    canChange: false,
    canDelete: false,
  },
];

/** The member of an agent's metadata that says which set of declarations made it. */
export const labelMember = 'gatehouse_label';
