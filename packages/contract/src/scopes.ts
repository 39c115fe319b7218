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
  'transfers.write',
  'users.write',
  'runs.write',
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
  ],
};

/** The default scopes of a role; a key may have fewer, never more. */
export function scopesOf(role: Role): readonly Scope[] {
  return roleScopes[role];
}

/** Whether the granted scopes include the wanted one. A `.write` scope includes `.read`. */
export function grants(granted: readonly Scope[], wanted: Scope): boolean {
  if (granted.includes(wanted)) return true;
  return wanted.endsWith('.read') && granted.some((scope) => scope === wanted.replace('.read', '.write'));
}
