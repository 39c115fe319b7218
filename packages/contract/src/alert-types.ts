import { z } from 'zod';
import { utcTime, uuid } from './fields.ts';
import { guardedTexts } from './guardrail-rules.ts';

/** Events for subscriptions of tenants and the owner. Add members to their data; never rename one. */

/** Limited resources, in the words of the limits of a tenant. */
export const limitNames = ['requests', 'tokens', 'concurrency', 'budget'] as const;

/** A limit belongs to a tenant, to one of its keys, or to a policy. */
const subject = { subject_type: z.enum(['tenant', 'api_key', 'policy']), subject_id: uuid };

/** Both are null for a limit of a tenant or a key, and the value for a policy with one counter. */
const counted = { policy: z.string().nullable(), value: z.string().nullable() };

const threshold = {
  percent: z.int().min(1).max(100),
  used_usd: z.string(),
  budget_usd: z.string(),
  window_start: utcTime,
};

const deployment = { provider: z.string(), model: z.string() };

/** The data of each type of event. */
export const alertData = {
  'budget.threshold': z.object({ ...subject, ...counted, ...threshold }),
  'limit.exceeded': z.object({
    ...subject,
    ...counted,
    limit: z.enum(limitNames),
    maximum: z.string().describe('Requests, tokens or USD'),
  }),
  'policy.counters_full': z.object({ policy_id: uuid, policy: z.string() }),
  'guardrail.blocked': z.object({
    guardrail_id: uuid,
    guardrail: z.string().describe('Begins with `owner:` for one of the operator'),
    on: z.enum(guardedTexts).describe('The kind of text that was blocked'),
    agent_id: uuid.nullable(),
  }),
  'guardrail.failing': z.object({
    guardrail_id: uuid,
    guardrail: z.string().describe('Begins with `owner:` for one of the operator'),
    on_error: z.enum(['open', 'closed']).describe('Whether runs go on without the check'),
  }),
  'run.failed': z.object({
    run_id: uuid,
    trace_id: z.string(),
    agent_id: uuid.nullable(),
    request_model: z.string(),
    channel: z.string(),
    status: z.enum(['error', 'interrupted']),
    error_type: z.string().nullable(),
  }),
  'endpoint.disabled': z.object({
    resource_type: z.enum(['webhook_endpoint', 'webhook_subscription']),
    resource_id: uuid,
    url: z.string(),
    reason: z.enum(['gone', 'failing']),
  }),
  'channel.needs_reauth': z.object({ channel_id: uuid, name: z.string(), type: z.string() }),
  'mcp.needs_auth': z.object({
    mcp_server_id: uuid,
    name: z.string(),
    // The user to consent; null if it is for all users.
    user_id: z.string().nullable(),
    reason: z.string(),
  }),
  'mcp.tool_changed': z.object({
    mcp_server_id: uuid,
    name: z.string(),
    // The user with the changed list of tools; null for all users.
    user_id: z.string().nullable(),
    tool: z.string(),
    digest: z.string(),
    // Cut where they are long.
    description: z.string(),
    accepted_description: z.string().nullable(),
  }),
  'key.expiring': z.object({ api_key_id: uuid, name: z.string(), expires_at: utcTime }),
  'transfer.finished': z.object({
    transfer_id: uuid,
    mode: z.enum(['copy', 'move']),
    status: z.enum(['completed', 'failed']),
    source_tenant_id: uuid,
    target_tenant_id: uuid,
  }),
  'provider.down': z.object(deployment),
  'provider_key.failing': z.object({
    provider: z.string(),
    // Position of a key of the platform in the catalogue; null for a key of the tenant's own, which the others name.
    key: z.int().min(1).nullable(),
    provider_key_id: uuid.nullable(),
    prefix: z.string().nullable(),
  }),
  'model.unpriced': z.object(deployment),
  'catalogue.invalid': z.object({
    digest: z.string().describe('Names the content of the file'),
    problems: z.array(z.string()).describe('The first 20 mistakes in it'),
    problem_count: z.int(),
  }),
  'issuer.groups_unreadable': z.object({
    issuer: z.string().describe('Its name in the settings'),
    problem: z.enum(['groups_left_out', 'groups_unreadable']),
  }),
  'tenant.budget_threshold': z.object({ tenant_id: uuid, ...subject, ...threshold }),
} as const satisfies Record<string, z.ZodObject>;

/** Types of events raised by some feature. */
export type AlertType = keyof typeof alertData;
export type AlertData<Type extends AlertType> = z.output<(typeof alertData)[Type]>;

/** Types for subscriptions of tenants; types outside `alertData` come with the features to raise them. */
export const tenantAlertTypes = [
  'budget.threshold',
  'limit.exceeded',
  'policy.counters_full',
  'guardrail.blocked',
  'guardrail.failing',
  'run.failed',
  'endpoint.disabled',
  'channel.needs_reauth',
  'mcp.needs_auth',
  'mcp.tool_changed',
  'provider_key.failing',
  'key.expiring',
  'transfer.finished',
] as const;

/** Types for subscriptions of the owner. */
export const ownerAlertTypes = [
  'provider.down',
  'provider_key.failing',
  'model.unpriced',
  'catalogue.invalid',
  'issuer.groups_unreadable',
  'tenant.budget_threshold',
] as const;
