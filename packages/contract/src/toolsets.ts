import { z } from 'zod';
import { serverRef } from './agents.ts';
import { builtinToolNames } from './builtin-tools.ts';
import {
  listOf,
  page,
  setOf,
  slug,
  storableChar,
  storableForm,
  storableText,
  utcTime,
  uuid,
} from './fields.ts';
import { created, noContent, ok, pageExample, pageOf, pick, routesWith, scope, type Route } from './route.ts';

/** Tools for programs: `/v1/toolsets*`. */

/** The most toolsets of one tenant. */
export const maxToolsets = 200;
/** The most references of each list of a toolset. */
const maxRefs = 100;

const slugForm = '[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?';

const mcpServers = setOf(serverRef)
  .max(maxRefs)
  .describe('MCP servers with all of their tools; `server/tool` for single ones');
const deny = setOf(
  storableForm(
    3,
    321,
    new RegExp(`^${slugForm}/${storableChar}*[^/\\x00]$`),
    'must be the name of a server and that of a tool: server/tool',
  ),
)
  .max(maxRefs)
  .describe('Tools of the servers that are left out: `server/tool`. Wins over `mcp_servers`');
const agents = setOf(
  z
    .string()
    .regex(
      new RegExp(`^${slugForm}(/(${builtinToolNames.join('|')}))?$`),
      `must be the key of an agent, or that and one of its tools: key/${builtinToolNames.join(', key/')}`,
    ),
)
  .max(maxRefs)
  .describe('Agents as tools, by their keys; `key/memory_search` and the like for single tools of an agent');

export const toolsetVisibilities = ['tenant', 'named'] as const;

const settings = {
  name: slug,
  description: storableText(0, 5_000).describe('The instructions that programs get'),
  mcp_servers: mcpServers,
  deny,
  agents,
  prefix: z
    .boolean()
    .describe(
      'Whether names of tools begin with their server. `false` needs exactly one server, and no agent',
    ),
  visibility: z
    .enum(toolsetVisibilities)
    .describe('`tenant`: for all keys that name no toolsets; `named`: only for those that name it'),
  enabled: z.boolean(),
};

export const toolset = z.strictObject({
  id: uuid,
  ...settings,
  missing: setOf(z.string()).describe(
    'References to servers, tools and agents that do not exist, or that the caller cannot see',
  ),
  created_at: utcTime,
  updated_at: utcTime,
});
export type WireToolset = z.output<typeof toolset>;
export const toolsetList = listOf(toolset);

export const createToolset = z.strictObject({
  name: settings.name,
  description: settings.description.default(''),
  mcp_servers: mcpServers.default([]),
  deny: deny.default([]),
  agents: agents.default([]),
  prefix: settings.prefix.default(true),
  visibility: settings.visibility.default('tenant'),
  enabled: settings.enabled.default(true),
});
export type CreateToolset = z.output<typeof createToolset>;

export const patchToolset = z.strictObject(settings).partial();
export type PatchToolset = z.output<typeof patchToolset>;

export const listToolsets = z.strictObject(page);

export const toolsetTool = z.strictObject({
  name: z.string().describe('The name by which programs call it'),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of its arguments'),
  read_only: z.boolean().describe('Whether it says that it changes nothing'),
  source: z.strictObject({
    type: z.enum(['mcp_server', 'agent']),
    name: z.string().describe('The name of the server, or the key of the agent'),
  }),
});
export type ToolsetTool = z.output<typeof toolsetTool>;
export const toolsetToolList = listOf(toolsetTool);

/** The most matches of a query. */
export const maxToolsFound = 20;

export const listToolsetTools = z.strictObject({
  ...page,
  q: storableText(1, 500)
    .optional()
    .describe(`Words in names and descriptions: the best ${maxToolsFound}, the best first`),
});

const example: WireToolset = {
  id: '0198c2e4-7c8d-7e9f-8a1b-3c4d5e6f7081',
  name: 'support',
  description: 'Tickets, and an agent that knows our products.',
  mcp_servers: ['tickets'],
  deny: ['tickets/delete_ticket'],
  agents: ['support', 'support/memory_search'],
  prefix: true,
  visibility: 'tenant',
  enabled: true,
  missing: [],
  created_at: '2026-01-10T09:00:00.000Z',
  updated_at: '2026-01-10T09:00:00.000Z',
};
const toolExample: ToolsetTool = {
  name: 'tickets__search_tickets',
  description: 'Searches tickets by text.',
  input_schema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  read_only: true,
  source: { type: 'mcp_server', name: 'tickets' },
};
const params = { toolset: example.name };

const read = routesWith({ service: 'agent', access: scope('tools.call'), actingUser: true });
const write = routesWith({ service: 'agent', access: scope('mcp.write'), actingUser: true });

export const routes: readonly Route[] = [
  read('toolsets.list', 'GET /v1/toolsets', {
    query: listToolsets,
    response: ok(toolsetList),
    summary: 'List the toolsets that the caller may use',
    description:
      'Enabled ones: those that the key names, or all with the visibility `tenant`. With the scope `mcp.write`, all of the tenant.',
    examples: pageExample('The newest toolset', example),
  }),
  write('toolsets.create', 'POST /v1/toolsets', {
    idempotencyKey: true,
    body: createToolset,
    response: created(toolset),
    summary: 'Create a toolset',
    description:
      'Names what programs may call through MCP. Servers, tools and agents that do not exist yet may be named; `missing` has them. A tenant may have 200 toolsets.',
    examples: {
      support: {
        summary: 'Tools of a server without one of them, an agent, and its memory',
        body: pick(example, 'name', 'description', 'mcp_servers', 'deny', 'agents'),
        response: example,
      },
    },
  }),
  read('toolsets.get', 'GET /v1/toolsets/{toolset}', {
    response: ok(toolset),
    summary: 'Get a toolset by id or name',
    examples: { support: { summary: 'By its name', params, response: example } },
  }),
  write('toolsets.patch', 'PATCH /v1/toolsets/{toolset}', {
    body: patchToolset,
    response: ok(toolset),
    summary: 'Change a toolset',
    description:
      'Send only the members to change; a list replaces the one before. Keys name toolsets by their names, and do not follow another name.',
    examples: {
      disable: {
        summary: 'Offer it to no program',
        params,
        body: { enabled: false },
        response: { ...example, enabled: false },
      },
    },
  }),
  write('toolsets.delete', 'DELETE /v1/toolsets/{toolset}', {
    response: noContent,
    summary: 'Delete a toolset',
    examples: { support: { summary: 'By its name', params } },
  }),
  read('toolsets.tools', 'GET /v1/toolsets/{toolset}/tools', {
    query: listToolsetTools,
    response: ok(toolsetToolList),
    summary: 'List the tools of a toolset as the caller gets them',
    description:
      'In the order of their names; with `q`, the best matches. Tools of disabled servers, in review or denied by `tool_filter` are left out, and so are disabled agents and those that the caller cannot see. At most 5,000 tools, with 16 MiB of definitions.',
    examples: {
      search: {
        summary: 'The tools that fit some words',
        params,
        query: { q: 'find tickets' },
        response: pageOf(toolExample),
      },
    },
  }),
];
