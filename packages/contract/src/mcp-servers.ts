import { z } from 'zod';
import { listOf, page, setOf, slug, storableText, urlPattern, utcTime, uuid } from './fields.ts';
import { mcpAuth, mcpAuthView } from './mcp-auth.ts';
import { created, noContent, ok, pageExample, routesWith, scope, type Route } from './route.ts';

/** MCP servers with tools for the agents of a tenant: `/v1/mcp/servers*`. */

/** The most servers of one tenant. */
export const maxMcpServers = 500;

export const mcpTransports = ['streamable_http', 'sse', 'auto'] as const;
export type McpTransport = (typeof mcpTransports)[number];

/** Refused by a code of its own: clients used to `stdio` must learn why it is missing. */
const transport = z
  .enum([...mcpTransports, 'stdio'])
  .refine((name) => name !== 'stdio', {
    message: 'stdio would run a command on the platform; use a server with HTTP',
    params: { code: 'transport_not_allowed' },
  })
  .pipe(z.enum(mcpTransports))
  .describe('`auto`: streamable HTTP, else SSE. `stdio` is not allowed')
  .meta({ enum: [...mcpTransports] });

const toolName = storableText(1, 256);
const toolNames = setOf(toolName).max(500);

const toolFilter = z
  .strictObject({ allow: toolNames, deny: toolNames })
  .describe('Names of tools. An empty `allow` allows all; `deny` wins');

const toolDefinition = {
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema, as the server gives it'),
  read_only: z.boolean().describe('Whether the server says that the tool changes nothing'),
  idempotent: z.boolean().describe('Whether the server says that a repeated call changes nothing more'),
};

export const mcpTool = z.strictObject({
  name: z.string().describe('Name of the tool at the server'),
  model_name: z.string().describe('Name of the tool for models: `<server>__<tool>`'),
  ...toolDefinition,
  enabled: z.boolean().describe('Whether `tool_filter` lets agents use it'),
  usable: z
    .boolean()
    .describe('Whether models can be given its `input_schema`: agents are not offered others'),
  reason: z.string().nullable().describe('Why it is not usable; else null'),
  digest: z.string().describe('SHA-256 of the definition'),
  status: z
    .enum(['accepted', 'needs_review'])
    .describe('`needs_review`: the definition has changed, and agents are not offered the tool'),
  accepted: z
    .strictObject(toolDefinition)
    .nullable()
    .describe('The definition that was accepted, of a tool that needs a review; null if it is not known'),
});

export const mcpStatus = z.enum(['pending', 'connected', 'needs_auth', 'error', 'disabled']);
export const mcpTrusts = ['pin', 'follow'] as const;
export type McpTrust = (typeof mcpTrusts)[number];
export type McpStatus = z.output<typeof mcpStatus>;

const settings = {
  name: slug,
  url: storableText(1, 2_000).meta({ format: 'uri', pattern: urlPattern }),
  transport,
  tool_filter: toolFilter,
  timeout_ms: z.int().min(100).max(300_000).describe('Time-out of each tool call'),
  enabled: z.boolean(),
  trust: z
    .enum(mcpTrusts)
    .describe('`pin`: tools whose definition changes are offered after a review; `follow`: at once'),
};

export const mcpServer = z.strictObject({
  id: uuid,
  ...settings,
  transport: z.enum(mcpTransports),
  auth: mcpAuthView,
  status: mcpStatus,
  status_reason: z.string().nullable().describe('Why the server is not connected'),
  protocol_version: z.string().nullable().describe('Protocol version of the last connection'),
  tools: z.array(mcpTool),
  tools_updated_at: utcTime.nullable(),
  created_at: utcTime,
  updated_at: utcTime,
});
export type WireMcpServer = z.output<typeof mcpServer>;

const noFilter = () => ({ allow: [], deny: [] });

export const createMcpServer = z.strictObject({
  // Checked first: a request for `stdio` has no URL.
  transport: settings.transport.default('auto'),
  name: settings.name,
  url: settings.url,
  auth: mcpAuth.default({ type: 'none' }),
  tool_filter: z
    .strictObject({ allow: toolNames.default([]), deny: toolNames.default([]) })
    .default(noFilter),
  timeout_ms: settings.timeout_ms.default(60_000),
  enabled: settings.enabled.default(true),
  trust: settings.trust.default('pin'),
  verify: z
    .boolean()
    .default(true)
    .describe('Whether to connect and to list the tools before anything is stored'),
});
export type CreateMcpServer = z.output<typeof createMcpServer>;

export const patchMcpServer = z
  .strictObject({ ...settings, auth: mcpAuth, tool_filter: toolFilter.partial() })
  .partial();
export type PatchMcpServer = z.output<typeof patchMcpServer>;

export const listMcpServers = z.strictObject(page);
export const mcpServerList = listOf(mcpServer);

export const acceptMcpTool = z.strictObject({
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the digest of a tool')
    .describe('Digest of the definition that was reviewed'),
});
export type AcceptMcpTool = z.output<typeof acceptMcpTool>;

export const mcpConsentLink = z.strictObject({
  url: z.string().describe('To be opened in the browser of the person who consents'),
  expires_at: utcTime,
});

const ticketQuery = z.strictObject({ ticket: z.string().max(128).optional() });
/** The authorization server decides what it adds. */
const callbackQuery = z.looseObject({
  code: z.string().max(4_096).optional(),
  state: z.string().max(256).optional(),
  iss: z.string().max(2_000).optional(),
});

const serverExample = {
  id: '0198c2e1-5a6b-7c8d-9e0f-1a2b3c4d5e6f',
  name: 'tickets',
  url: 'https://mcp.example.com/mcp',
  transport: 'auto',
  auth: { type: 'bearer', token_set: true },
  tool_filter: { allow: [], deny: [] },
  timeout_ms: 60_000,
  enabled: true,
  trust: 'pin',
  status: 'connected',
  status_reason: null,
  protocol_version: '2025-11-25',
  tools: [
    {
      name: 'search_tickets',
      model_name: 'tickets__search_tickets',
      description: 'Searches tickets by text.',
      input_schema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
      read_only: true,
      idempotent: false,
      enabled: true,
      usable: true,
      reason: null,
      digest: '5e0c4d2d5b3e0d6f6f2a8b0c9d1e7f3a4b5c6d7e8f90123456789abcdef01234',
      status: 'accepted',
      accepted: null,
    },
  ],
  tools_updated_at: '2026-01-10T09:00:00.000Z',
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const pendingExample = {
  ...serverExample,
  ...{ status: 'pending', protocol_version: null, tools: [], tools_updated_at: null },
};
const { id, name, url } = serverExample;
const params = { id };

const route = routesWith({ service: 'agent', access: scope('mcp.write') });

export const routes: readonly Route[] = [
  route('mcp.servers.list', 'GET /v1/mcp/servers', {
    query: listMcpServers,
    response: ok(mcpServerList),
    summary: 'List the MCP servers of the tenant',
    examples: pageExample('The newest server', serverExample),
  }),
  route('mcp.servers.create', 'POST /v1/mcp/servers', {
    idempotencyKey: true,
    body: createMcpServer,
    response: created(mcpServer),
    summary: 'Register an MCP server; its secrets are never shown',
    description:
      'Connects and lists the tools first, unless `verify` is false; with `oauth` it looks for the authorization server instead. 422 `mcp_unreachable` if that fails: nothing is stored then. A tenant may connect 60 times a minute, by registrations, changes and refreshes together.',
    examples: {
      later: {
        summary: 'A server that is connected later',
        body: { name, url, auth: { type: 'bearer', token: 'a-token-of-the-server' }, verify: false },
        response: pendingExample,
      },
    },
  }),
  route('mcp.servers.get', 'GET /v1/mcp/servers/{id}', {
    actingUser: true,
    response: ok(mcpServer),
    summary: 'Get an MCP server with its tools',
    description: 'With logins of users, lists the tools of the acting user.',
    examples: { server: { summary: 'A server', params, response: serverExample } },
  }),
  route('mcp.servers.patch', 'PATCH /v1/mcp/servers/{id}', {
    body: patchMcpServer,
    response: ok(mcpServer),
    summary: 'Change an MCP server',
    description:
      'A URL with another origin removes the secrets unless `auth` is given with it. After a change of `url`, `transport`, `auth` or `enabled` the gateway connects again; `status` of the response says how that went.',
    examples: {
      disable: {
        summary: 'Offer its tools to no agent',
        params,
        body: { enabled: false },
        response: { ...serverExample, enabled: false, status: 'disabled' },
      },
    },
  }),
  route('mcp.servers.delete', 'DELETE /v1/mcp/servers/{id}', {
    response: noContent,
    summary: 'Delete an MCP server with its secrets',
    examples: { server: { summary: 'A server', params } },
  }),
  route('mcp.servers.refresh', 'POST /v1/mcp/servers/{id}/refresh', {
    // It stores what the server lists, as the gateway does by itself.
    administrative: false,
    response: ok(mcpServer),
    summary: 'Connect to an MCP server and list its tools again',
    description:
      '422 `mcp_unreachable` if that fails; the tools from before stay. Changes nothing where each user has a login. A tenant may connect 60 times a minute.',
    examples: { server: { summary: 'A server', params, response: serverExample } },
  }),
  route('mcp.servers.tools.accept', 'POST /v1/mcp/servers/{id}/tools/{name}/accept', {
    body: acceptMcpTool,
    response: ok(mcpServer),
    summary: 'Accept the changed definition of a tool',
    description: [
      'Offers the tool to agents again, with the definition of this digest. 400 `invalid_value` if the server lists',
      'another one meanwhile. Where each user has a login, the definition is accepted for all users.',
    ].join('\n'),
    examples: {
      tool: {
        summary: 'A definition that was reviewed',
        params: { id, name: 'search_tickets' },
        body: { digest: '5e0c4d2d5b3e0d6f6f2a8b0c9d1e7f3a4b5c6d7e8f90123456789abcdef01234' },
        response: serverExample,
      },
    },
  }),
  route('mcp.servers.consent-links.create', 'POST /v1/mcp/servers/{id}/consent-links', {
    access: scope('chat'),
    actingUser: true,
    idempotencyKey: true,
    response: created(mcpConsentLink),
    summary: 'Make a link to the consent page of an MCP server with OAuth',
    description: [
      'The id may be the name. With `per_user` the consent is for the acting user; without, it is for all users, and',
      'the key needs `mcp.write` too. 422 `mcp_unreachable` if the authorization server cannot be found or used.',
    ].join('\n'),
    examples: {
      link: {
        summary: 'A link for ten minutes',
        params,
        response: {
          url: `https://gateway.example.com/v1/mcp/servers/${id}/consent?ticket=q3mE…`,
          expires_at: '2026-01-10T09:10:00.000Z',
        },
      },
    },
  }),
];

/** Routes for browsers only: not part of the OpenAPI document. */
export const pageRoutes: readonly Route[] = [
  route('mcp.servers.consent', 'GET /v1/mcp/servers/{id}/consent', {
    access: { kind: 'ticket', headers: [] },
    query: ticketQuery,
    response: { status: 200, shape: null },
    summary: 'The consent page of an MCP server',
  }),
  route('mcp.servers.consent.begin', 'POST /v1/mcp/servers/{id}/consent', {
    access: { kind: 'ticket', headers: ['origin', 'sec-fetch-site'] },
    query: ticketQuery,
    response: { status: 303, shape: null },
    summary: 'The button of the consent page: leads to the authorization server',
  }),
  route('mcp.oauth.callback', 'GET /v1/mcp/oauth/callback', {
    access: { kind: 'ticket', headers: ['cookie'] },
    query: callbackQuery,
    response: { status: 200, shape: null },
    summary: 'The authorization server redirects the browser here after the consent',
  }),
];
