import { z } from 'zod';
import * as agents from './agents.ts';
import * as analytics from './analytics.ts';
import * as chat from './chat.ts';
import * as health from './health.ts';
import * as keys from './keys.ts';
import * as limits from './limits.ts';
import type { Scope } from './scopes.ts';
import * as tenants from './tenants.ts';

export type ServiceName = 'edge' | 'tenant' | 'agent' | 'chat' | 'memory' | 'webhook' | 'analytics';

/** Who may call a route. There is no default: a route without access does not compile, nor start. */
export type Access =
  | { kind: 'public' }
  /** Any valid key. */
  | { kind: 'key' }
  | { kind: 'scope'; scope: Scope }
  | { kind: 'owner' };

export interface Route {
  /** Stable name, also the metric label and the OpenAPI operation id. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `{name}` is one path segment, `{name+}` one or more. */
  path: string;
  service: ServiceName;
  access: Access;
  /** Whether `X-Service-User-Id` names the acting user here; elsewhere it is ignored. */
  actingUser: boolean;
  /** Closed to the browser relay. */
  operatorSurface: boolean;
  /** Bodies pass through unparsed and answers may stream for long: takes the short way through edge and service. */
  passThrough: boolean;
  /** Largest request body in bytes; 0 where none is read. */
  bodyLimit: number;
  /** Request body shape; absent where none is read or where a third party decides it. */
  body?: z.ZodType;
  /** Query parameters; an absent shape means that none are known, so any is refused. */
  query?: z.ZodObject;
  response: { status: 200 | 201 | 204; shape: z.ZodType | null };
  summary: string;
}

const MiB = 1024 * 1024;

const scope = (name: Scope): Access => ({ kind: 'scope', scope: name });

type Optional = 'actingUser' | 'operatorSurface' | 'passThrough' | 'bodyLimit';

function route(fields: Omit<Route, Optional> & Partial<Pick<Route, Optional>>): Route {
  const bodyLimit = fields.body === undefined ? 0 : MiB;
  return { actingUser: false, operatorSurface: false, passThrough: false, bodyLimit, ...fields };
}

const owner: Access = { kind: 'owner' };
const ok = (shape: z.ZodType): Route['response'] => ({ status: 200, shape });
const created = (shape: z.ZodType): Route['response'] => ({ status: 201, shape });
const noContent: Route['response'] = { status: 204, shape: null };

/**
 * Every path of the gateway. The edge routes by it, services validate by it, and nothing can be reached that is not
 * in it.
 */
export const routes: readonly Route[] = [
  route({
    id: 'health',
    method: 'GET',
    path: '/health',
    service: 'edge',
    access: { kind: 'public' },
    response: ok(health.health),
    summary: 'Health and readiness probe',
  }),

  route({
    id: 'chat.completions',
    method: 'POST',
    path: '/v1/chat/completions',
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    passThrough: true,
    bodyLimit: 20 * MiB,
    response: ok(chat.openAiObject),
    summary: 'OpenAI-compatible chat completion',
  }),
  route({
    id: 'embeddings.create',
    method: 'POST',
    path: '/v1/embeddings',
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    passThrough: true,
    bodyLimit: 20 * MiB,
    response: ok(chat.openAiObject),
    summary: 'OpenAI-compatible embeddings',
  }),
  route({
    id: 'models.list',
    method: 'GET',
    path: '/v1/models',
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    response: ok(chat.modelList),
    summary: 'Models and agents that the caller may use',
  }),
  route({
    id: 'models.get',
    method: 'GET',
    path: '/v1/models/{id+}',
    service: 'chat',
    access: scope('chat'),
    actingUser: true,
    response: ok(chat.model),
    summary: 'One model or agent',
  }),

  route({
    id: 'agents.list',
    method: 'GET',
    path: '/v1/agents',
    service: 'agent',
    access: scope('agents.read'),
    actingUser: true,
    query: agents.listAgents,
    response: ok(agents.agentList),
    summary: 'List agents that the caller may use',
  }),
  route({
    id: 'agents.create',
    method: 'POST',
    path: '/v1/agents',
    service: 'agent',
    access: scope('agents.write'),
    actingUser: true,
    body: agents.createAgent,
    response: created(agents.agent),
    summary: 'Create an agent',
  }),
  route({
    id: 'agents.get',
    method: 'GET',
    path: '/v1/agents/{agentID}',
    service: 'agent',
    access: scope('agents.read'),
    actingUser: true,
    response: ok(agents.agent),
    summary: 'Get an agent by id or key',
  }),
  route({
    id: 'agents.patch',
    method: 'PATCH',
    path: '/v1/agents/{agentID}',
    service: 'agent',
    access: scope('agents.write'),
    actingUser: true,
    body: agents.patchAgent,
    response: ok(agents.agent),
    summary: 'Change an agent (JSON merge patch)',
  }),
  route({
    id: 'agents.delete',
    method: 'DELETE',
    path: '/v1/agents/{agentID}',
    service: 'agent',
    access: scope('agents.write'),
    actingUser: true,
    response: noContent,
    summary: 'Delete an agent',
  }),

  route({
    id: 'traces.follow',
    method: 'GET',
    path: '/v1/traces/follow',
    service: 'analytics',
    access: scope('analytics.read'),
    actingUser: true,
    query: analytics.followTraces,
    response: ok(analytics.tracePage),
    summary: 'Runs that started or ended since the last call',
  }),
  route({
    id: 'traces.get',
    method: 'GET',
    path: '/v1/traces/{id}',
    service: 'analytics',
    access: scope('analytics.read'),
    actingUser: true,
    response: ok(analytics.trace),
    summary: 'One run with its provider calls',
  }),
  route({
    id: 'usage.summary',
    method: 'GET',
    path: '/v1/usage/summary',
    service: 'analytics',
    access: scope('analytics.read'),
    actingUser: true,
    query: analytics.summaryQuery,
    response: ok(analytics.usageSummary),
    summary: 'Requests and tokens, in sum and by group',
  }),
  route({
    id: 'costs.summary',
    method: 'GET',
    path: '/v1/costs/summary',
    service: 'analytics',
    access: scope('analytics.read'),
    actingUser: true,
    query: analytics.summaryQuery,
    response: ok(analytics.costSummary),
    summary: 'What runs cost, in sum and by group',
  }),

  route({
    id: 'whoami',
    method: 'GET',
    path: '/v1/whoami',
    service: 'tenant',
    access: { kind: 'key' },
    response: ok(keys.whoami),
    summary: 'What the key is and may do',
  }),
  route({
    id: 'limits.get',
    method: 'GET',
    path: '/v1/limits',
    service: 'tenant',
    access: { kind: 'key' },
    response: ok(limits.limitList),
    summary: 'The limits that hold for the key, and how much of them is used',
  }),
  route({
    id: 'api-keys.list',
    method: 'GET',
    path: '/v1/api-keys',
    service: 'tenant',
    access: scope('keys.write'),
    query: keys.listApiKeys,
    response: ok(keys.apiKeyList),
    summary: "List the tenant's API keys",
  }),
  route({
    id: 'api-keys.create',
    method: 'POST',
    path: '/v1/api-keys',
    service: 'tenant',
    access: scope('keys.write'),
    body: keys.createApiKey,
    response: created(keys.apiKeyWithText),
    summary: 'Create an API key; its text is shown this once',
  }),
  route({
    id: 'api-keys.get',
    method: 'GET',
    path: '/v1/api-keys/{id}',
    service: 'tenant',
    access: scope('keys.write'),
    response: ok(keys.apiKey),
    summary: 'Get an API key',
  }),
  route({
    id: 'api-keys.revoke',
    method: 'POST',
    path: '/v1/api-keys/{id}/revoke',
    service: 'tenant',
    access: scope('keys.write'),
    body: z.strictObject({}),
    response: ok(keys.apiKey),
    summary: 'Revoke an API key',
  }),
  route({
    id: 'api-keys.rotate',
    method: 'POST',
    path: '/v1/api-keys/{id}/rotate',
    service: 'tenant',
    access: scope('keys.write'),
    body: keys.rotateApiKey,
    response: ok(keys.apiKeyWithText),
    summary: 'Give an API key a new secret; the old one works on for the overlap',
  }),

  route({
    id: 'owner.api-keys.list',
    method: 'GET',
    path: '/internal/v1/owner/api-keys',
    service: 'tenant',
    access: owner,
    query: keys.listOwnerApiKeys,
    response: ok(keys.ownerApiKeyList),
    summary: 'Audit owner and admin keys',
  }),
  route({
    id: 'owner.api-keys.create',
    method: 'POST',
    path: '/internal/v1/owner/api-keys',
    service: 'tenant',
    access: owner,
    body: keys.createOwnerApiKey,
    response: created(keys.ownerApiKeyWithText),
    summary: 'Create an owner key, or an admin key of a tenant',
  }),
  route({
    id: 'owner.api-keys.revoke',
    method: 'POST',
    path: '/internal/v1/owner/api-keys/{id}/revoke',
    service: 'tenant',
    access: owner,
    body: z.strictObject({}),
    response: ok(keys.ownerApiKey),
    summary: 'Revoke any API key',
  }),
  route({
    id: 'owner.tenants.list',
    method: 'GET',
    path: '/internal/v1/owner/tenants',
    service: 'tenant',
    access: owner,
    query: tenants.listTenants,
    response: ok(tenants.tenantList),
    summary: 'List tenants',
  }),
  route({
    id: 'owner.tenants.create',
    method: 'POST',
    path: '/internal/v1/owner/tenants',
    service: 'tenant',
    access: owner,
    body: tenants.createTenant,
    response: created(tenants.tenantWithKey),
    summary: 'Create a tenant with its first admin key',
  }),
  route({
    id: 'owner.tenants.get',
    method: 'GET',
    path: '/internal/v1/owner/tenants/{id}',
    service: 'tenant',
    access: owner,
    response: ok(tenants.tenant),
    summary: 'Get a tenant',
  }),
  route({
    id: 'owner.tenants.patch',
    method: 'PATCH',
    path: '/internal/v1/owner/tenants/{id}',
    service: 'tenant',
    access: owner,
    body: tenants.patchTenant,
    response: ok(tenants.tenant),
    summary: 'Change, suspend or archive a tenant',
  }),
];
