import { isMembers, type Members } from './members.ts';

/** The users named by a policy or a guardrail, which may be known by other ids. */
export function usersOf({ per, select, overrides }: Members): string[] {
  const selected = isMembers(select) && Array.isArray(select['users']) ? select['users'].map(String) : [];
  const overridden = per === 'user' && isMembers(overrides) ? Object.keys(overrides) : [];
  return [
    ...selected.filter((name) => !name.includes('*')),
    ...overridden.filter((name) => !name.startsWith('group:')),
  ];
}
