import { z } from 'zod';
import { ok, route, scope, type Route } from './route.ts';

/**
 * The parts of the OpenAI API that the gateway itself serves: `/v1/models*`. For requests passed to providers see
 * `openai.ts`.
 */

export const model = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});
export type Model = z.output<typeof model>;

export const modelList = z.strictObject({
  object: z.literal('list'),
  data: z.array(model),
  has_more: z
    .literal(true)
    .optional()
    .describe('Present only if the response reached its size limit of 4 MiB and agents are missing'),
});

const modelExample = { id: 'gpt-4.1-mini', object: 'model', created: 0, owned_by: 'openai' };

const agentExample = { id: 'agent:assistant', object: 'model', created: 1_768_000_000, owned_by: 'tenant' };

export const routes: readonly Route[] = [
  route({
    id: 'models.list',
    method: 'GET',
    path: '/v1/models',
    dialects: ['chat', 'messages', 'gemini'],
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    response: ok(modelList),
    summary: 'List models and agents that the caller may use',
    examples: {
      all: {
        summary: 'A model and an agent',
        response: { object: 'list', data: [modelExample, agentExample] },
      },
    },
  }),
  route({
    id: 'models.get',
    method: 'GET',
    path: '/v1/models/{id+}',
    dialects: ['chat', 'messages', 'gemini'],
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    response: ok(model),
    summary: 'Get a model or agent',
    description: 'An id may contain slashes, plain or percent-encoded.',
    examples: {
      agent: { summary: 'An agent', params: { id: 'agent:assistant' }, response: agentExample },
      model: { summary: 'A model', params: { id: 'gpt-4.1-mini' }, response: modelExample },
    },
  }),
];
