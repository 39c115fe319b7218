import { z } from 'zod';
import { listOf, page, utcTime, uuid } from './fields.ts';
import { accepted, created, ok, pageOf, routesWith, type Access, type Example, type Route } from './route.ts';
import { tenantExample } from './tenants.ts';

/** Transfers of resources between tenants: `/v1/tenant/resource-transfers*`. */

export const transferModes = ['copy', 'move'] as const;
export type TransferMode = (typeof transferModes)[number];

export const transferableTypes = ['agent', 'mcp_server', 'channel_instance', 'webhook_endpoint'] as const;
export type TransferableType = (typeof transferableTypes)[number];

const ref = { type: z.enum(transferableTypes), id: uuid };
const resourceRef = z.strictObject(ref);
export type ResourceRef = z.output<typeof resourceRef>;

const onConflict = z
  .enum(['fail', 'rename', 'skip'])
  .describe(
    'When the target has an agent with the same key or an MCP server with the same name: the transfer is refused, gives ' +
      'it another name, or leaves it out and uses what is there',
  );

const include = z.strictObject({
  memory: z.boolean().default(true),
  knowledge_graph: z.boolean().default(true),
});

const maxResources = 100;

export const createPreview = z.strictObject({
  mode: z.enum(transferModes),
  source_tenant_id: uuid,
  target_tenant_id: uuid,
  resources: z.array(resourceRef).min(1).max(maxResources).meta({ uniqueItems: true }),
  include: include.default({ memory: true, knowledge_graph: true }),
  on_conflict: onConflict.default('fail'),
});
export type CreatePreview = z.output<typeof createPreview>;

const counts = z
  .record(z.string().max(32), z.int())
  .meta({ maxProperties: 16 })
  .describe(
    'Data that moves with the resource, by kind, such as `documents`, `relations` or `messages`, when it was counted',
  );

const namedRef = z.strictObject({ ...ref, name: z.string() });

export const transferPreview = z.strictObject({
  id: uuid,
  status: z.enum(['open', 'used', 'expired']).describe('A preview can be used once, until `expires_at`'),
  mode: z.enum(transferModes),
  source_tenant_id: uuid,
  target_tenant_id: uuid,
  accepted: z.boolean().describe('Whether an admin of the target has accepted, or an owner asked'),
  include: z.strictObject({ memory: z.boolean(), knowledge_graph: z.boolean() }),
  on_conflict: onConflict,
  resources: z.array(
    z.strictObject({
      ...namedRef.shape,
      action: z.enum([...transferModes, 'skip']),
      target_name: z.string().describe('Its key or name in the target'),
      secrets: z
        .enum(['none', 'travel', 'stay'])
        .describe('Whether it has secrets, and whether they are transferred; those of users never are'),
      counts,
    }),
  ),
  dependencies: z
    .array(z.strictObject({ ...namedRef.shape, needs: namedRef, included: z.boolean() }))
    .describe(
      'Resources that need another one. `included` is false for a resource that stays in the source and needs one that moves',
    ),
  conflicts: z
    .array(
      z.strictObject({
        ...namedRef.shape,
        existing_id: uuid,
        resolution: onConflict,
      }),
    )
    .nullable()
    .describe('Same keys and names in the target; null until the target has accepted'),
  problems: z
    .array(z.strictObject({ code: z.string(), message: z.string() }))
    .nullable()
    .describe(
      'Why the transfer would be refused, such as a limit of the target; null until the target has accepted',
    ),
  created_at: utcTime,
  expires_at: utcTime,
});
export type TransferPreview = z.output<typeof transferPreview>;

export const createTransfer = z.strictObject({ preview_id: uuid });
export type CreateTransfer = z.output<typeof createTransfer>;

export const wireTransfer = z.strictObject({
  id: uuid,
  status: z.enum(['running', 'completed', 'failed']),
  phase: z
    .enum(['locking', 'copying', 'closing', 'committing', 'aborting', 'completed', 'failed'])
    .describe('A transfer that fails before `committing` is undone'),
  mode: z.enum(transferModes),
  preview_id: uuid,
  source_tenant_id: uuid,
  target_tenant_id: uuid,
  items: z.array(
    z.strictObject({
      type: ref.type,
      source_id: uuid,
      target_id: uuid.nullable().describe('Null after a transfer that failed'),
      action: z.enum([...transferModes, 'skip']),
    }),
  ),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  created_at: utcTime,
  finished_at: utcTime.nullable(),
});
export type WireTransfer = z.output<typeof wireTransfer>;

export const listTransfers = z.strictObject(page);
export const transferList = listOf(wireTransfer);

const agentExample = { id: '0198c2b7-41aa-7d03-9c11-5f6e7d8c9b01', key: 'support' };

const example: TransferPreview = {
  id: '0198c5d0-2f60-7b11-8f0c-5d2e8a1b9c44',
  status: 'open',
  mode: 'copy',
  source_tenant_id: tenantExample.id,
  target_tenant_id: '0198c2a4-9c2e-7a13-b7b2-1d0f5e8c9f66',
  accepted: true,
  include: { memory: true, knowledge_graph: true },
  on_conflict: 'rename',
  resources: [
    {
      type: 'agent',
      id: agentExample.id,
      name: agentExample.key,
      action: 'copy',
      target_name: `${agentExample.key}-2`,
      secrets: 'none',
      counts: { documents: 120, passages: 840, entities: 60, relations: 95 },
    },
  ],
  dependencies: [],
  conflicts: [
    {
      type: 'agent',
      id: agentExample.id,
      name: agentExample.key,
      existing_id: '0198c2b0-17d3-7c58-9a44-6e2f1a0b3c77',
      resolution: 'rename',
    },
  ],
  problems: [],
  created_at: '2026-01-12T08:00:00.000Z',
  expires_at: '2026-01-12T09:00:00.000Z',
};

const transferExample: WireTransfer = {
  id: '0198c5d1-04b7-7a32-91d8-7c6b5a4f3e21',
  status: 'completed',
  phase: 'completed',
  mode: 'copy',
  preview_id: example.id,
  source_tenant_id: example.source_tenant_id,
  target_tenant_id: example.target_tenant_id,
  items: [
    {
      type: 'agent',
      source_id: agentExample.id,
      target_id: '0198c5d1-04c0-7f11-8e2a-3b4c5d6e7f80',
      action: 'copy',
    },
  ],
  error: null,
  created_at: '2026-01-12T08:05:00.000Z',
  finished_at: '2026-01-12T08:05:02.000Z',
};

const collection = '/v1/tenant/resource-transfers';
const base = `${collection}/previews`;
const transfers: Access = { kind: 'scope', scope: 'transfers.write', owners: true };

function one(summary: string, preview: TransferPreview): { examples: Record<string, Example> } {
  return { examples: { agent: { summary, params: { id: preview.id }, response: preview } } };
}

const route = routesWith({ service: 'tenant', access: transfers });

export const routes: readonly Route[] = [
  route('transfers.previews.create', `POST ${base}`, {
    idempotencyKey: true,
    body: createPreview,
    response: created(transferPreview),
    summary: 'Preview a transfer to another tenant',
    description:
      'Shows what a transfer would do, and changes nothing. An owner may name any two tenants. An admin names the own ' +
      'tenant as the source; what depends on the target is shown once an admin of the target has accepted. Everything ' +
      'that a resource needs must be part of the transfer: the MCP servers of an agent, the agent of a channel or a ' +
      'webhook endpoint. A preview can be used for an hour.',
    examples: {
      copy: {
        summary: 'An agent, by an owner',
        body: {
          mode: 'copy',
          source_tenant_id: example.source_tenant_id,
          target_tenant_id: example.target_tenant_id,
          resources: [{ type: 'agent', id: agentExample.id }],
          on_conflict: 'rename',
        },
        response: example,
      },
    },
  }),
  route('transfers.previews.get', `GET ${base}/{id}`, {
    response: ok(transferPreview),
    summary: 'Get a preview, as an owner or an admin of either tenant',
    ...one('A preview that the target has not accepted', {
      ...example,
      accepted: false,
      resources: example.resources.map((resource) => ({ ...resource, target_name: resource.name })),
      conflicts: null,
      problems: null,
    }),
  }),
  route('transfers.previews.accept', `POST ${base}/{id}/accept`, {
    response: ok(transferPreview),
    summary: 'Accept a transfer into the own tenant',
    description:
      'An admin of the target agrees to the transfer. The preview then also shows what depends on the target.',
    ...one('The preview after the target has accepted', example),
  }),
  route('transfers.create', `POST ${collection}`, {
    idempotencyKey: true,
    body: createTransfer,
    response: accepted(wireTransfer),
    summary: 'Carry out a transfer that was previewed',
    description:
      'For an owner, or an admin of the source once the target has accepted. Nothing may have changed since the preview. ' +
      "Meanwhile the resources can't be changed (409 `resource_locked`). It ends wholly done or wholly undone. A copy " +
      'has new ids; what moves keeps its ids, and refuses requests for a moment before it changes hands.',
    examples: {
      copy: {
        summary: 'A transfer that has begun',
        body: { preview_id: example.id },
        response: { ...transferExample, status: 'running', phase: 'locking', finished_at: null },
      },
    },
  }),
  route('transfers.list', `GET ${collection}`, {
    query: listTransfers,
    response: ok(transferList),
    summary: 'List transfers from and to the own tenant, or all for an owner, newest first',
    examples: {
      latest: { summary: 'The latest transfer', query: { limit: 1 }, response: pageOf(transferExample) },
    },
  }),
  route('transfers.get', `GET ${collection}/{id}`, {
    response: ok(wireTransfer),
    summary: 'Get the progress of a transfer, as an owner or an admin of either tenant',
    examples: {
      completed: {
        summary: 'A transfer that has ended',
        params: { id: transferExample.id },
        response: transferExample,
      },
    },
  }),
];
