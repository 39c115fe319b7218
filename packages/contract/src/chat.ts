import { z } from 'zod';
import type { DialectName } from './dialects.ts';
import { utcTime } from './fields.ts';
import { ok, routesWith, scope, type Route } from './route.ts';

/**
 * Lists of models, which the gateway itself serves, in the shapes of three APIs. For requests passed to providers see
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
  models: z.array(z.never()).optional().describe('Empty, for clients that send `client_version`'),
});

/** Anthropic's shape (https://docs.claude.com/en/api/models-list). */
export const anthropicModel = z.strictObject({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: utcTime,
});
export type AnthropicModel = z.output<typeof anthropicModel>;

export const anthropicModelList = z.strictObject({
  data: z.array(anthropicModel),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/** Google's shape (https://ai.google.dev/api/models). */
export const googleModel = z.strictObject({
  name: z.string().describe('`models/` followed by the id'),
  version: z.string(),
  displayName: z.string(),
  outputTokenLimit: z.int().optional(),
});
export type GoogleModel = z.output<typeof googleModel>;

export const googleModelList = z.strictObject({
  models: z.array(googleModel),
  nextPageToken: z.string().optional(),
});

export const anyModel = z.union([model, anthropicModel, googleModel]);
export const anyModelList = z.union([modelList, anthropicModelList, googleModelList]);

/** Google's clients read these, and may send any others. */
const googleQuery = z.looseObject({
  pageSize: z
    .string()
    .max(16)
    .optional()
    .describe("Models of a page for Google's clients; 50 by default, 1,000 at most"),
  pageToken: z
    .string()
    .max(1_024)
    .optional()
    .describe("For Google's clients: `nextPageToken` of the page before"),
});

/** Each client's own are read, and those of others ignored. */
const modelQuery = googleQuery.extend({
  limit: z
    .string()
    .max(16)
    .optional()
    .describe("Models of a page for Anthropic's clients, 1 to 1,000; 20 by default"),
  before_id: z
    .string()
    .max(512)
    .optional()
    .describe("For Anthropic's clients: the page that ends before this model"),
  after_id: z
    .string()
    .max(512)
    .optional()
    .describe("For Anthropic's clients: the page that begins after this model"),
  client_version: z.string().max(256).optional().describe('Codex sends it, and reads `models`'),
});
export type ModelQuery = z.output<typeof modelQuery>;

const shapeOfClient = [
  "The response has the shape of the client's API: Google's with `x-goog-api-key`, `x-goog-api-client` or `?key=`,",
  "Anthropic's with `anthropic-version`, else OpenAI's. Unknown query parameters are ignored.",
].join('\n');

const modelExample = { id: 'gpt-4.1-mini', object: 'model', created: 0, owned_by: 'openai' };

const agentExample = { id: 'agent:assistant', object: 'model', created: 1_768_000_000, owned_by: 'tenant' };

const anthropicExample = {
  type: 'model',
  id: 'agent:assistant',
  display_name: 'agent:assistant',
  created_at: '2026-01-09T23:06:40.000Z',
};

const googleExample = { name: 'models/gpt-4.1-mini', version: '1', displayName: 'gpt-4.1-mini' };

const route = routesWith({ service: 'chat', access: scope('chat'), actingUser: true });

/** Dialects with a list of models under `/v1/models`. The headers of a request distinguish them. */
export const modelDialects: readonly DialectName[] = ['chat', 'messages', 'gemini'];

export const routes: readonly Route[] = [
  route('models.list', 'GET /v1/models', {
    dialects: modelDialects,
    query: modelQuery,
    response: ok(anyModelList),
    summary: 'List models and agents that the caller may use',
    description: shapeOfClient,
    examples: {
      all: {
        summary: 'A model and an agent',
        response: { object: 'list', data: [modelExample, agentExample] },
      },
      anthropic: {
        summary: "An agent in Anthropic's shape",
        response: {
          data: [anthropicExample],
          has_more: false,
          first_id: anthropicExample.id,
          last_id: anthropicExample.id,
        },
      },
      google: { summary: "A model in Google's shape", response: { models: [googleExample] } },
    },
  }),
  route('models.get', 'GET /v1/models/{id+}', {
    dialects: modelDialects,
    query: z.looseObject({}),
    response: ok(anyModel),
    summary: 'Get a model or agent',
    description: `An id may contain slashes, plain or percent-encoded. ${shapeOfClient}`,
    examples: {
      agent: { summary: 'An agent', params: { id: 'agent:assistant' }, response: agentExample },
      model: { summary: 'A model', params: { id: 'gpt-4.1-mini' }, response: modelExample },
    },
  }),
  route('gemini.models.list', 'GET /v1beta/models', {
    dialects: ['gemini'],
    query: googleQuery,
    response: ok(googleModelList),
    summary: "List models and agents in Google's shape",
    description: 'Unknown query parameters are ignored.',
    examples: { all: { summary: 'A model', response: { models: [googleExample] } } },
  }),
  route('gemini.models.get', 'GET /v1beta/models/{id+}', {
    dialects: ['gemini'],
    query: z.looseObject({}),
    response: ok(googleModel),
    summary: "Get a model or agent in Google's shape",
    description: 'Unknown query parameters are ignored.',
    examples: { model: { summary: 'A model', params: { id: 'gpt-4.1-mini' }, response: googleExample } },
  }),
];
