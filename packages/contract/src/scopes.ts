export const roles = ['owner', 'admin', 'user'] as const;
export type Role = (typeof roles)[number];

export const scopes = [
  'chat',
  'agents.read',
  'agents.write',
  'memory.read',
  'memory.write',
  'analytics.read',
  'cookies.write',
  'channels.read',
  'channels.write',
  'mcp.write',
  'webhooks.write',
  'keys.write',
  'policies.write',
  'guardrails.write',
  'transfers.write',
  'users.write',
  'runs.write',
  'tools.call',
  'scim.write',
] as const;
export type Scope = (typeof scopes)[number];

const roleScopes: Record<Role, readonly Scope[]> = {
  owner: ['transfers.write'],
  admin: scopes,
  user: [
    'chat',
    'agents.read',
    'memory.read',
    'memory.write',
    'analytics.read',
    'cookies.write',
    'runs.write',
    'tools.call',
  ],
};

/** Keys have these scopes only if their `scopes` name them. */
const namedScopes: ReadonlySet<Scope> = new Set<Scope>(['scim.write']);

/** All scopes that keys of a role may have. */
export function possibleScopes(role: Role): readonly Scope[] {
  return roleScopes[role];
}

/** The default scopes of a role. */
export function scopesOf(role: Role): readonly Scope[] {
  return roleScopes[role].filter((scope) => !namedScopes.has(scope));
}

/**
 * Scopes a key may also give by another one: `users.write` includes the changes by `scim.write`, and `mcp.write`
 * decides which tools `tools.call` reaches.
 */
const givenBy: Partial<Record<Scope, Scope>> = { 'scim.write': 'users.write', 'tools.call': 'mcp.write' };

/** Whether a key with the granted scopes can give another key a scope. */
export function mayGiveScope(granted: readonly Scope[], scope: Scope): boolean {
  const wider = givenBy[scope];
  return grants(granted, scope) || (wider !== undefined && grants(granted, wider));
}

/** Whether the granted scopes include the wanted one. A `.write` scope includes `.read`. */
export function grants(granted: readonly Scope[], wanted: Scope): boolean {
  if (granted.includes(wanted)) return true;
  return wanted.endsWith('.read') && granted.some((scope) => scope === wanted.replace('.read', '.write'));
}
