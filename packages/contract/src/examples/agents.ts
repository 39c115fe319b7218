import type { Examples } from './example.ts';

const support = {
  id: '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32',
  key: 'support',
  name: 'Support',
  description: 'Answers questions about orders.',
  model: 'gpt-4.1-mini',
  model_fallbacks: ['gpt-4.1-nano'],
  system_prompt: 'You help customers with their orders. Be brief and kind.',
  parameters: { temperature: 0.3, max_tokens: 800 },
  tools: { mcp_servers: [], builtin: [], max_iterations: 10 },
  memory: { enabled: false, recall_limit: 5, write: false },
  visibility: 'tenant',
  owner_user_id: null,
  status: 'active',
  metadata: { team: 'care' },
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};

export const agentExamples: Record<string, Examples> = {
  'agents.list': {
    active: {
      summary: 'Agents that can be used',
      query: { status: 'active', limit: 20 },
      response: { data: [support], has_more: false, next_cursor: null },
    },
  },
  'agents.create': {
    support: {
      summary: 'With a prompt, parameters and a fallback',
      body: {
        key: support.key,
        name: support.name,
        description: support.description,
        model: support.model,
        model_fallbacks: support.model_fallbacks,
        system_prompt: support.system_prompt,
        parameters: support.parameters,
        metadata: support.metadata,
      },
      response: support,
    },
    least: {
      summary: 'The least',
      body: { key: 'plain', model: 'gpt-4.1-mini' },
      response: {
        ...support,
        id: '0198c2b1-77aa-7d10-b3c4-2f5e8a9b0c43',
        key: 'plain',
        name: 'plain',
        description: '',
        model_fallbacks: [],
        system_prompt: '',
        parameters: {},
        metadata: {},
      },
    },
  },
  'agents.get': {
    support: { summary: 'By its key', params: { agentID: 'support' }, response: support },
  },
  'agents.patch': {
    parameters: {
      summary: 'Change one parameter and remove another',
      params: { agentID: 'support' },
      body: { parameters: { temperature: 0.7, max_tokens: null } },
      response: {
        ...support,
        parameters: { temperature: 0.7 },
        updated_at: '2026-01-11T10:30:00.000Z',
      },
    },
  },
  'agents.delete': {
    support: { summary: 'By its key', params: { agentID: 'support' } },
  },
};
