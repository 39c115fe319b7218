import { describe, expect, it } from '@jest/globals';
import type { Agent } from '@gatehouse/contract/agents';
import { agentChanges, agentDraft, hasParameters, newAgent, newAgentBody } from './agent-draft.ts';

const agent: Agent = {
  ...{ id: '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32', key: 'support', name: 'Support', description: '' },
  ...{ model: 'small', model_fallbacks: ['smaller'], system_prompt: '', status: 'active' },
  parameters: { temperature: 0.3, max_tokens: 800, seed: 7, stop: ['END'] },
  tools: { mcp_servers: ['desk'], builtin: [], web_hosts: [], max_iterations: 10, max_cost_usd: null },
  memory: { enabled: false, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
  ...{ visibility: 'tenant', owner_user_id: null },
  ...{ metadata: {}, created_at: '2026-01-10T09:00:00.000Z', updated_at: '2026-01-10T09:00:00.000Z' },
};
const draft = agentDraft(agent);

describe('the fields of an agent', () => {
  it('change nothing by themselves', () => {
    expect(agentChanges(draft, draft)).toEqual({});
  });

  it('change single parameters, and remove those without a value', () => {
    const changed = { ...draft, temperature: '', max_tokens: '900', parameters: '{"seed": 8}' };
    expect(agentChanges(draft, changed)).toEqual({
      parameters: { temperature: null, max_tokens: 900, seed: 8, stop: null },
    });
  });

  it('remove nested parameters, and leave those beside them', () => {
    const nested = { ...agent, parameters: { response_format: { type: 'json', schema: { a: 1, b: [2] } } } };
    const before = agentDraft(nested);
    const parameters = '{"response_format": {"type": "json", "schema": {"b": [3]}}}';
    const changes = agentChanges(before, { ...before, parameters });
    expect(changes).toEqual({ parameters: { response_format: { schema: { a: null, b: [3] } } } });
  });

  it('have numbers as they are typed, and send them alone', () => {
    const typed = { ...draft, memory: { ...draft.memory, enabled: true, min_score: '0.' } };
    expect(typed.memory.min_score).toBe('0.');
    const done = { ...typed, memory: { ...typed.memory, min_score: '0.5' } };
    const tools = { ...draft.tools, max_iterations: '3', max_cost_usd: '0.10' };
    expect(agentChanges(draft, { ...done, tools })).toEqual({
      ...{ memory: { enabled: true, min_score: 0.5 }, tools: { max_iterations: 3, max_cost_usd: '0.10' } },
    });
  });

  it('have an owner only while the agent is private', () => {
    const hidden = { ...draft, visibility: 'private' as const, owner_user_id: 'grace' };
    expect(agentChanges(draft, hidden)).toEqual({ visibility: 'private', owner_user_id: 'grace' });
    expect(agentChanges(hidden, { ...hidden, visibility: 'tenant' })).toEqual({
      ...{ visibility: 'tenant', owner_user_id: null },
    });
  });

  it('leave names and owners of new agents to the API', () => {
    const body = newAgentBody({
      ...newAgent,
      key: 'plain',
      model: 'small',
      model_fallbacks: ['', 'smaller'],
    });
    expect(body).not.toHaveProperty('name');
    expect(body).not.toHaveProperty('owner_user_id');
    expect(body).toMatchObject({ key: 'plain', model_fallbacks: ['smaller'], parameters: {} });
  });

  it.each([
    ['', true],
    ['{"seed": 7}', true],
    ['{"seed": 7', false],
    ['[7]', false],
    ['null', false],
  ])('take %j as parameters: %s', (parameters, isTaken) => {
    expect(hasParameters({ ...draft, parameters })).toBe(isTaken);
  });
});
