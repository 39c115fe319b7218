import { z } from 'zod';
import { jsonRecord, listOf, modelId, page, slug, storableText, userId, utcTime, uuid } from './fields.ts';

/** Agents: `/v1/agents*` (contract §3). */

/**
 * Defaults of OpenAI request fields that the agent sets and a client may override. Any field of the request may be
 * given, so that providers' own extensions work, except those that the gateway decides.
 */
const parameters = jsonRecord.check((check) => {
  for (const field of ['model', 'messages', 'stream', 'stream_options', 'input']) {
    if (Object.hasOwn(check.value, field)) {
      check.issues.push({
        code: 'custom',
        input: check.value,
        path: [field],
        message: 'can not be a parameter of an agent',
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
});

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

const slugs = z.array(slug).max(100);

export const agentTools = z.strictObject({
  mcp_servers: slugs,
  builtin: z.array(z.enum(['web_fetch'])).max(10),
  max_iterations: z.int().min(1).max(50),
});

export const agentMemory = z.strictObject({
  enabled: z.boolean(),
  recall_limit: z.int().min(1).max(50),
  write: z.boolean(),
});

const defaultIterations = 10;
// Made anew for each request: zod copies no deeper than the object itself.
const defaultTools = () => ({ mcp_servers: [], builtin: [], max_iterations: defaultIterations });
const defaultMemory = { enabled: false, recall_limit: 5, write: false };

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
  model_fallbacks: z.array(modelId).max(10).describe('Tried in turn when the model fails'),
  system_prompt: storableText(0, 200_000),
  parameters: parameters.describe(
    'Defaults of OpenAI request fields that a request may override: `temperature`, `max_tokens`, or any other but `model`, `messages`, `input`, `stream` and `stream_options`',
  ),
  visibility: visibility.describe('`private`: seen and used by its owner only'),
  owner_user_id: userId.nullable(),
  status: agentStatus,
  metadata: jsonRecord,
};

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
      mcp_servers: slugs.default([]),
      builtin: agentTools.shape.builtin.default([]),
      max_iterations: agentTools.shape.max_iterations.default(defaultIterations),
    })
    .default(defaultTools),
  memory: z
    .strictObject({
      enabled: z.boolean().default(defaultMemory.enabled),
      recall_limit: agentMemory.shape.recall_limit.default(defaultMemory.recall_limit),
      write: z.boolean().default(defaultMemory.write),
    })
    .default(defaultMemory),
  visibility: fields.visibility.default('tenant'),
  owner_user_id: fields.owner_user_id.optional(),
  status: fields.status.default('active'),
  metadata: fields.metadata.default({}),
});
export type CreateAgent = z.output<typeof createAgent>;

/**
 * A JSON merge patch (RFC 7396): absent members stay, nested objects merge, `null` removes a member of `parameters`
 * or `metadata`.
 */
export const patchAgent = z.strictObject({
  key: slug.optional(),
  name: fields.name.optional(),
  description: fields.description.optional(),
  model: fields.model.optional(),
  model_fallbacks: fields.model_fallbacks.optional(),
  system_prompt: fields.system_prompt.optional(),
  parameters: fields.parameters.optional(),
  tools: agentTools.partial().optional(),
  memory: agentMemory.partial().optional(),
  visibility: fields.visibility.optional(),
  owner_user_id: fields.owner_user_id.optional(),
  status: fields.status.optional(),
  metadata: fields.metadata.optional(),
});
export type PatchAgent = z.output<typeof patchAgent>;

export const listAgents = z.strictObject({
  ...page,
  status: agentStatus.optional(),
  q: storableText(1, 200).optional(),
});
export const agentList = listOf(agent);
