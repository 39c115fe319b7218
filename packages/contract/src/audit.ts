import { z } from 'zod';
import { listOf, page, timestamp, utcTime, uuid } from './fields.ts';
import { roles } from './scopes.ts';
import { admin, jsonLines, ok, owner, pageOf, routesWith, type Route } from './route.ts';
import { ownerKeyExample } from './owner-api-keys.ts';
import { tenantExample } from './tenants.ts';

/** The audit log of administrative changes: `/internal/v1/owner/audit-log` and, for a tenant, `/v1/audit-log`. */

/** `<resource type>.<change>` */
export const auditActions = [
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'budget.threshold_reached',
  'group.created',
  'group.updated',
  'group.deleted',
  'guardrail.created',
  'guardrail.updated',
  'guardrail.deleted',
  'login_link.created',
  'mcp_server.created',
  'mcp_server.updated',
  'mcp_server.deleted',
  'mcp_server.connected',
  'mcp_server.disconnected',
  'memory.forgotten',
  'memory.imported',
  'memory_document.created',
  'memory_document.updated',
  'memory_document.deleted',
  'memory_graph.updated',
  'policy.created',
  'policy.updated',
  'policy.deleted',
  'policy.reset',
  'provider_key.created',
  'provider_key.deleted',
  'run.stopped',
  'session.created',
  'session.ended',
  'tenant.created',
  'tenant.updated',
  'toolset.created',
  'toolset.updated',
  'toolset.deleted',
  'transfer.accepted',
  'transfer.started',
  'transfer.finished',
  'user.created',
  'user.updated',
  'user.deleted',
  'user_data.deletion_requested',
  'webhook_endpoint.created',
  'webhook_endpoint.updated',
  'webhook_endpoint.rotated',
  'webhook_endpoint.deleted',
  'webhook_call.redelivered',
  'webhook_subscription.created',
  'webhook_subscription.updated',
  'webhook_subscription.deleted',
  'channel_instance.created',
  'channel_instance.updated',
  'channel_instance.deleted',
  'channel_instance.connected',
] as const;
export type AuditAction = (typeof auditActions)[number];

/**
 * The public view of a resource, without secrets. Large members (over 8 KiB) and texts for models, like system prompts,
 * are replaced by their size and SHA-256.
 */
const view = z.record(z.string().max(128), z.unknown()).meta({ maxProperties: 64 }).nullable();

export const auditEntry = z.strictObject({
  id: uuid,
  at: utcTime,
  action: z.string().max(64),
  actor: z.strictObject({
    /** Null when the platform itself made the change. */
    key_id: uuid.nullable(),
    role: z.enum([...roles, 'system']),
    /** The acting user of the request. */
    user_id: z.string().max(255).nullable(),
  }),
  /** Null for resources without a tenant, like an owner key. */
  tenant_id: uuid.nullable(),
  resource: z.strictObject({ type: z.string().max(64), id: uuid }),
  client_ip: z.string().max(45).nullable(),
  request_id: z.string().max(128).nullable(),
  /** Null when the resource was created. */
  before: view,
  /** Null when the resource was deleted. */
  after: view,
});
export type AuditEntry = z.output<typeof auditEntry>;
/** An entry without its time, which the database sets. */
export type NewAuditEntry = Omit<AuditEntry, 'at'>;

export const listOwnAuditLog = z.strictObject({
  ...page,
  /** Id of the API key behind the change. */
  actor: uuid.optional(),
  action: z.enum(auditActions).optional(),
  /** Inclusive. */
  from: timestamp.optional(),
  /** Exclusive. */
  to: timestamp.optional(),
});
export const listAuditLog = listOwnAuditLog.extend({ tenant_id: uuid.optional() });
export const auditLogList = listOf(auditEntry);

const exported = { limit: true, cursor: true } as const;
export const exportOwnAuditLog = listOwnAuditLog.omit(exported);
export const exportAuditLog = listAuditLog.omit(exported);

const changeExample = {
  id: '0198c304-2b3c-7d15-87a0-1c2d3e4f5a09',
  at: '2026-01-12T08:00:00.000Z',
  action: 'tenant.updated',
  actor: { key_id: ownerKeyExample.id, role: 'owner', user_id: null },
  tenant_id: tenantExample.id,
  resource: { type: 'tenant', id: tenantExample.id },
  client_ip: '203.0.113.7',
  request_id: '0198c304-2b3a-7e41-9f60-5d6e7f8a9b10',
  before: tenantExample,
  after: { ...tenantExample, status: 'suspended', updated_at: '2026-01-12T08:00:00.000Z' },
};

const revokedKey = { id: ownerKeyExample.id, name: 'Mobile app', role: 'user', revoked_at: null };
const revokedExample = {
  ...changeExample,
  action: 'api_key.revoked',
  actor: { key_id: '0198c2a5-1f3e-7c64-9d3b-5a0f6f3b2c11', role: 'admin', user_id: null },
  resource: { type: 'api_key', id: revokedKey.id },
  before: revokedKey,
  after: { ...revokedKey, revoked_at: '2026-01-12T08:00:00.000Z' },
};

const exportDescription = `Streams one entry on each line (\`${jsonLines}\`), in the order and with the filters of the list. Entries that are added meanwhile are left out. An export is complete only if the response ends normally.`;

const route = routesWith({ service: 'tenant', access: owner });

export const routes: readonly Route[] = [
  route('owner.audit-log.list', 'GET /internal/v1/owner/audit-log', {
    query: listAuditLog,
    response: ok(auditLogList),
    summary: 'List administrative changes, newest first',
    examples: {
      suspensions: {
        summary: 'Changes of tenants since January 1',
        query: { action: 'tenant.updated', from: '2026-01-01T00:00:00Z' },
        response: pageOf(changeExample),
      },
    },
  }),
  route('audit-log.list', 'GET /v1/audit-log', {
    access: admin,
    query: listOwnAuditLog,
    response: ok(auditLogList),
    summary: 'List administrative changes in the tenant, newest first',
    description:
      'Also those that an owner made, whose address is not shown. Changes in other services appear within seconds.',
    examples: {
      revocations: {
        summary: 'API keys that were revoked since January 1',
        query: { action: 'api_key.revoked', from: '2026-01-01T00:00:00Z' },
        response: pageOf(revokedExample),
      },
    },
  }),
  route('owner.audit-log.export', 'GET /internal/v1/owner/audit-log/export', {
    query: exportAuditLog,
    response: { status: 200, shape: auditEntry, lines: true },
    summary: 'Export administrative changes as JSON lines, newest first',
    description: `${exportDescription} One export of owners runs at a time.`,
    examples: {
      year: {
        summary: 'The changes of a year',
        query: { from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' },
        response: [changeExample],
      },
    },
  }),
  route('audit-log.export', 'GET /v1/audit-log/export', {
    access: admin,
    query: exportOwnAuditLog,
    response: { status: 200, shape: auditEntry, lines: true },
    summary: 'Export administrative changes in the tenant as JSON lines, newest first',
    description: `${exportDescription} One export of a tenant runs at a time.`,
    examples: {
      revocations: {
        summary: 'API keys that were revoked since January 1',
        query: { action: 'api_key.revoked', from: '2026-01-01T00:00:00Z' },
        response: [revokedExample],
      },
    },
  }),
];
