import type { Agent } from '@gatehouse/contract/agents';

/** The text of an agent in a list of choices: names need not differ, and a disabled agent answers no request. */
export function agentLabel({ key, name, status }: Pick<Agent, 'key' | 'name' | 'status'>): string {
  const notes = [...(key === name ? [] : [key]), ...(status === 'disabled' ? ['disabled'] : [])];
  return notes.length === 0 ? name : `${name} (${notes.join(', ')})`;
}
