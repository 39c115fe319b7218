import { z } from 'zod';
import { listOf, page, utcTime, uuid } from './fields.ts';
import { noContent, ok, pageExample, routesWith, scope, type Route } from './route.ts';

/** The logins of a user at MCP servers where each user has one: `/v1/mcp/logins*`. */

export const mcpLogin = z.strictObject({
  server_id: uuid,
  server_name: z.string(),
  server_host: z.string().describe('Host of the URL of the server, and its port if it names one'),
  status: z
    .enum(['logged_in', 'needs_login', 'lost'])
    .describe(
      '`logged_in`: agents call the server as the user; `needs_login`: not yet; `lost`: the login has expired, or the authorization server no longer renews it, so the user must log in again',
    ),
  logged_in_at: utcTime.nullable().describe('Null without a login'),
  expires_at: utcTime
    .nullable()
    .describe('End of a login that the gateway cannot renew; null for others, and without a login'),
});
export type McpLogin = z.output<typeof mcpLogin>;

export const listMcpLogins = z.strictObject(page);
export const mcpLoginList = listOf(mcpLogin);

const example: McpLogin = {
  server_id: '0198c2e1-5a6b-7c8d-9e0f-1a2b3c4d5e6f',
  server_name: 'mail',
  server_host: 'mcp.example.com',
  status: 'logged_in',
  logged_in_at: '2026-01-10T09:00:00.000Z',
  expires_at: null,
};

const route = routesWith({
  service: 'agent',
  access: scope('chat'),
  actingUser: true,
  needsActingUser: true,
});

export const routes: readonly Route[] = [
  route('mcp.logins.list', 'GET /v1/mcp/logins', {
    query: listMcpLogins,
    response: ok(mcpLoginList),
    summary: 'List the logins of the acting user at MCP servers',
    description: [
      'One for each server of the tenant with OAuth and `per_user`, with and without a login: the newest server first.',
      'A server that is disabled is listed while the user has a login there. No secret is shown.',
    ].join('\n'),
    examples: pageExample('The newest server', example),
  }),
  route('mcp.logins.delete', 'DELETE /v1/mcp/logins/{server_id}', {
    administrative: true,
    response: noContent,
    summary: 'End the login of the acting user at an MCP server',
    description: [
      'Deletes the tokens and the links to consents that are under way. The gateway then revokes the tokens at the',
      'authorization server (RFC 7009) if that names an endpoint for it: the response does not wait for it.',
    ].join('\n'),
    examples: { server: { summary: 'A server', params: { server_id: example.server_id } } },
  }),
];
