import { z } from 'zod';
import { builtinToolNames } from './builtin-tools.ts';
import {
  jsonName,
  jsonRecord,
  listOf,
  modelId,
  page,
  setOf,
  slug,
  storableChar,
  storableForm,
  storableText,
  usd,
  userId,
  utcTime,
  uuid,
} from './fields.ts';
import { created, noContent, ok, pageOf, pick, routesWith, scope, type Route } from './route.ts';

/** Agents: `/v1/agents*`. */

const gatewayFields = ['model', 'messages', 'stream', 'stream_options', 'input'];

const knownParameters: Record<string, z.ZodType> = {
  temperature: z.number().min(0).max(2),
  top_p: z.number().min(0).max(1),
  max_tokens: z.int().min(0),
  max_completion_tokens: z.int().min(0),
  presence_penalty: z.number().min(-2).max(2),
  frequency_penalty: z.number().min(-2).max(2),
  n: z.int().min(1).max(128),
  seed: z.int(),
};

/** The JSON Schema of a shape, for shapes checked by hand. */
function documented(shape: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(shape);
  return schema;
}

/**
 * Defaults of OpenAI request fields. A request may override them. Accepts any field, for extensions of providers,
 * except the fields set by the gateway.
 */
const parameters = jsonRecord
  .check((check) => {
    for (const field of gatewayFields) {
      if (Object.hasOwn(check.value, field)) {
        check.issues.push({
          code: 'custom',
          input: check.value,
          path: [field],
          message: 'must not be a parameter of an agent',
        });
      }
    }
    for (const [field, shape] of Object.entries(knownParameters)) {
      const value = check.value[field];
      if (value === undefined || value === null) continue;
      const parsed = shape.safeParse(value);
      for (const issue of parsed.error?.issues ?? []) {
        check.issues.push({ code: 'custom', input: value, path: [field], message: issue.message });
      }
    }
  })
  .meta({
    propertyNames: { ...documented(jsonName), not: { enum: gatewayFields } },
    properties: Object.fromEntries(
      Object.entries(knownParameters).map(([field, shape]) => [field, documented(shape.nullable())]),
    ),
  });

/** A server with all of its tools, or one of them: `server`, `server/tool`. */
export const serverRef = storableForm(
  1,
  321,
  new RegExp(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?(/${storableChar}*[^/\\x00])?$`),
  'must be the name of a server, or that and the name of a tool: server/tool',
);

const serverRefs = setOf(serverRef)
  .max(100)
  .describe('Names of MCP servers for all of their tools; `server/tool` for single ones');

/** A host, or all hosts below one: names as URLs spell them, in lower case and punycode. */
const hostPattern =
  /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const webHosts = setOf(
  storableForm(
    1,
    253,
    hostPattern,
    'must be a host, such as docs.example.com, or *.example.com for all below it',
  ),
)
  .max(100)
  .describe(
    'Hosts that `web_fetch` may call, redirects included: `docs.example.com`, or `*.example.com` for all below it. Empty: every public host',
  );

/** The fields of `tools` by which chat runs a turn; the others concern the agent service alone. */
export const turnTools = z.object({
  max_iterations: z.int().min(1).max(50).describe('Calls of the model in one run that may call tools'),
  max_cost_usd: usd.nullable().describe('Once a run has cost so much, it calls no more tools'),
});

export const agentTools = z.strictObject({
  mcp_servers: serverRefs,
  builtin: setOf(z.enum(builtinToolNames))
    .max(10)
    .describe('Tools of the gateway: pages of the web, the memory and the knowledge graph of the agent'),
  web_hosts: webHosts,
  ...turnTools.shape,
});

export const agentMemory = z.strictObject({
  enabled: z.boolean(),
  recall_limit: z.int().min(1).max(50),
  min_score: z
    .number()
    .min(0)
    .max(1)
    .describe('The score that a passage needs to be recalled. Greetings and thanks recall nothing'),
  write: z.boolean(),
  analyser: z
    .enum(['english', 'simple'])
    .describe('How search reads words: `simple` for languages without a stemmer, and for code'),
});

/** The settings of an agent by which chat runs its turns, as the agent service sends them. */
export interface TurnSettings {
  /** Null from a release without memory. */
  memory: z.output<typeof agentMemory> | null;
  /** Null for an agent without tools. */
  tools: z.output<typeof turnTools> | null;
}

const defaultIterations = 10;
// A function, so each request gets its own object: zod copies defaults only one level deep.
const defaultTools = () => ({
  mcp_servers: [],
  builtin: [],
  web_hosts: [],
  max_iterations: defaultIterations,
  max_cost_usd: null,
});
/** `make bench` measures what scores above this find (test/bench/recall.ts, test/bench/chatty-recall.ts). */
export const defaultMinScore = 0.25;
const defaultMemory = {
  ...{ enabled: false, recall_limit: 5, min_score: defaultMinScore, write: false },
  analyser: 'english',
} as const;

export const visibility = z.enum(['tenant', 'private']);
export const agentStatus = z.enum(['active', 'disabled']);

export const agent = z.strictObject({
  id: uuid,
  key: slug,
  name: z.string(),
  description: z.string(),
  model: z.string(),
  model_fallbacks: z.array(z.string()),
  system_prompt: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  tools: agentTools,
  memory: agentMemory,
  visibility,
  owner_user_id: z.string().nullable(),
  status: agentStatus,
  metadata: z.record(z.string(), z.unknown()),
  created_at: utcTime,
  updated_at: utcTime,
});
export type Agent = z.output<typeof agent>;

const fields = {
  name: storableText(1, 200),
  description: storableText(0, 5_000),
  model: modelId,
  model_fallbacks: z.array(modelId).max(10).describe('Models to try in this order when the model fails'),
  system_prompt: storableText(0, 200_000),
  parameters: parameters.describe(
    'Defaults of OpenAI request fields, which a request may override: `temperature`, `max_tokens` or any other field except `model`, `messages`, `input`, `stream` and `stream_options`',
  ),
  tools: agentTools,
  memory: agentMemory,
  visibility: visibility.describe('`private`: only its owner can see and use the agent'),
  owner_user_id: userId.nullable(),
  status: agentStatus,
  metadata: jsonRecord,
};

const allowMissing = z
  .boolean()
  .optional()
  .describe('Whether `tools.mcp_servers` may name servers and tools that do not exist. It is not stored');

export const createAgent = z.strictObject({
  key: slug,
  name: fields.name.optional(),
  description: fields.description.default(''),
  model: fields.model,
  model_fallbacks: fields.model_fallbacks.default([]),
  system_prompt: fields.system_prompt.default(''),
  parameters: fields.parameters.default({}),
  tools: z
    .strictObject({
      mcp_servers: serverRefs.default([]),
      builtin: agentTools.shape.builtin.default([]),
      web_hosts: webHosts.default([]),
      max_iterations: agentTools.shape.max_iterations.default(defaultIterations),
      max_cost_usd: agentTools.shape.max_cost_usd.default(null),
    })
    .default(defaultTools),
  memory: z
    .strictObject({
      enabled: z.boolean().default(defaultMemory.enabled),
      recall_limit: agentMemory.shape.recall_limit.default(defaultMemory.recall_limit),
      min_score: agentMemory.shape.min_score.default(defaultMemory.min_score),
      write: z.boolean().default(defaultMemory.write),
      analyser: agentMemory.shape.analyser.default(defaultMemory.analyser),
    })
    .default(defaultMemory),
  visibility: fields.visibility.default('tenant'),
  owner_user_id: fields.owner_user_id.optional(),
  status: fields.status.default('active'),
  metadata: fields.metadata.default({}),
  allow_missing: allowMissing,
});
export type CreateAgent = z.output<typeof createAgent>;

/**
 * A JSON merge patch (RFC 7396): absent members stay unchanged, nested objects are merged, and `null` removes a member
 * of `parameters` or `metadata`.
 */
export const patchAgent = z
  .strictObject({
    key: slug,
    ...fields,
    tools: agentTools.partial(),
    memory: agentMemory.partial(),
    allow_missing: allowMissing,
  })
  .partial();
export type PatchAgent = z.output<typeof patchAgent>;

export const listAgents = z.strictObject({
  ...page,
  status: agentStatus.optional(),
  q: storableText(1, 200).optional(),
});
export const agentList = listOf(agent);

const supportExample = {
  id: '0198c2b0-3d5a-7a41-8f2e-6b1c9d0e4f32',
  key: 'support',
  name: 'Support',
  description: 'Answers questions about orders.',
  model: 'gpt-4.1-mini',
  model_fallbacks: ['gpt-4.1-nano'],
  system_prompt: 'You help customers with their orders. Be brief and kind.',
  parameters: { temperature: 0.3, max_tokens: 800 },
  tools: { mcp_servers: [], builtin: [], web_hosts: [], max_iterations: 10, max_cost_usd: null },
  memory: { enabled: false, recall_limit: 5, min_score: 0.25, write: false, analyser: 'english' },
  visibility: 'tenant',
  owner_user_id: null,
  status: 'active',
  metadata: { team: 'care' },
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};

const route = routesWith({ service: 'agent', access: scope('agents.write'), actingUser: true });

export const routes: readonly Route[] = [
  route('agents.list', 'GET /v1/agents', {
    access: scope('agents.read'),
    query: listAgents,
    response: ok(agentList),
    summary: 'List agents that the caller may use',
    description:
      'With an acting user, returns the agents of the tenant and the private agents of that user. Without one, returns all agents for an admin key, and the agents of the tenant for a user key.',
    examples: {
      active: {
        summary: 'Active agents',
        query: { status: 'active', limit: 20 },
        response: pageOf(supportExample),
      },
    },
  }),
  route('agents.create', 'POST /v1/agents', {
    idempotencyKey: true,
    body: createAgent,
    response: created(agent),
    summary: 'Create an agent',
    description:
      'Only `key` and `model` are required. A private agent needs an owner: the acting user or `owner_user_id`.',
    examples: {
      support: {
        summary: 'With a prompt, parameters and a fallback',
        body: pick(
          supportExample,
          'key',
          'name',
          'description',
          'model',
          'model_fallbacks',
          'system_prompt',
          'parameters',
          'metadata',
        ),
        response: supportExample,
      },
      least: {
        summary: 'Only required fields',
        body: { key: 'plain', model: 'gpt-4.1-mini' },
        response: {
          ...supportExample,
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
  }),
  route('agents.get', 'GET /v1/agents/{agentID}', {
    access: scope('agents.read'),
    response: ok(agent),
    summary: 'Get an agent by id or key',
    examples: {
      support: { summary: 'By its key', params: { agentID: 'support' }, response: supportExample },
    },
  }),
  route('agents.patch', 'PATCH /v1/agents/{agentID}', {
    body: patchAgent,
    response: ok(agent),
    summary: 'Change an agent (JSON merge patch)',
    description:
      'Send only the fields to change (RFC 7396): objects are merged, and `null` removes a member of `parameters` or `metadata`.',
    examples: {
      parameters: {
        summary: 'Change one parameter and remove another',
        params: { agentID: 'support' },
        body: { parameters: { temperature: 0.7, max_tokens: null } },
        response: {
          ...supportExample,
          parameters: { temperature: 0.7 },
          updated_at: '2026-01-11T10:30:00.000Z',
        },
      },
    },
  }),
  route('agents.delete', 'DELETE /v1/agents/{agentID}', {
    response: noContent,
    summary: 'Delete an agent',
    examples: { support: { summary: 'By its key', params: { agentID: 'support' } } },
  }),
];
