import { expect, it } from '@jest/globals';
import { agentLabel } from './agents.ts';

it.each([
  [{ key: 'support', name: 'support', status: 'active' as const }, 'support'],
  [{ key: 'support', name: 'Support', status: 'active' as const }, 'Support (support)'],
  [{ key: 'support', name: 'Support', status: 'disabled' as const }, 'Support (support, disabled)'],
  [{ key: 'support', name: 'support', status: 'disabled' as const }, 'support (disabled)'],
])('an agent %j is offered as %j', (agent, label) => {
  expect(agentLabel(agent)).toBe(label);
});
