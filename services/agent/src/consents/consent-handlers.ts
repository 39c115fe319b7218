import type { Changes } from '@gatehouse/audited-changes/changes';
import { tenantOf, type Call, type Handler, type RawHandler } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { requesterOf, ConsentFlow } from '@gatehouse/public-access/consent-flow';
import type { ConsentTickets } from '@gatehouse/public-access/consent-tickets';
import type { Refusals } from '@gatehouse/public-access/refusals';
import type { Logins } from '../logins/logins-client.ts';
import { McpFailure } from '../mcp/failure.ts';
import { authProblemOf, isPerUser, type McpServer } from '../mcp/mcp-server.ts';
import type { ServerStore } from '../servers/server-store.ts';
import { actingUserOf } from '../shared/acting-user.ts';
import type { ConsentDetails, McpConsents } from './mcp-consents-client.ts';

export interface ConsentLinkDependencies {
  servers: ServerStore;
  tickets: ConsentTickets;
  logins: Logins;
  changes: Changes;
  publicUrl: string;
}

/** `POST /v1/mcp/servers/{id}/consent-links` */
export function consentLinkHandlers(dependencies: ConsentLinkDependencies): Record<string, Handler> {
  return {
    'mcp.servers.consent-links.create': (call: Call) => createLink(call, dependencies),
  };
}

/** The consent page, its button, and where the browser comes back. */
export function consentPageHandlers(options: {
  kind: McpConsents;
  tickets: ConsentTickets;
  refusals: Refusals;
  publicUrl: string;
}): Record<string, RawHandler> {
  const flow = new ConsentFlow(options);
  return {
    'mcp.servers.consent': flow.page,
    'mcp.servers.consent.begin': flow.begin,
    'mcp.oauth.callback': flow.callback,
  };
}

async function createLink(call: Call, dependencies: ConsentLinkDependencies): Promise<Reply> {
  const { servers, logins, tickets, changes, publicUrl } = dependencies;
  const { tenantId } = tenantOf(call);
  const server = orNotFound(await servers.findByRef(tenantId, call.params['id'] ?? ''), 'MCP server');
  const { auth, id: subjectId, connectionId } = server;
  if (auth.type !== 'oauth')
    throw new AppError('invalid_value', 'Only MCP servers with the auth type oauth need a consent.');
  const problem = authProblemOf(server);
  if (problem !== null)
    throw new AppError('invalid_value', `Send the auth of the MCP server again. ${problem}`);
  const userId = ownerOf(server, call);
  if (publicUrl === '')
    throw new AppError('service_unavailable', 'The operator has not set PUBLIC_URL, which consents need.');
  const binding = await logins.bindFor(server, auth).catch((error: unknown) => {
    if (!(error instanceof McpFailure)) throw error;
    if (error.kind === 'other_issuer') throw new AppError('invalid_value', error.message);
    const message = 'The gateway could not find or use the authorization server of the MCP server.';
    throw new AppError('mcp_unreachable', message, { cause: error });
  });
  const details: ConsentDetails = { binding, connectionId, userId };
  return changes.change(call, async (db) => {
    const consent = { tenantId, subjectId, askedBy: requesterOf(call), details: JSON.stringify(details) };
    const { ticket, expiresAt } = await tickets.make(db, consent);
    return {
      body: {
        url: `${publicUrl}/v1/mcp/servers/${subjectId}/consent?ticket=${ticket}`,
        expires_at: expiresAt.toISOString(),
      },
      changes: [],
    };
  });
}

/** The user who gets the login: the acting user, or (empty) all users, which takes `mcp.write`. */
function ownerOf(server: McpServer, call: Pick<Call, 'principal'>): string {
  if (isPerUser(server)) return actingUserOf(call, 'The consent is for a user').userId;
  if (!tenantOf(call).scopes.includes('mcp.write'))
    throw new AppError('scope_missing', 'The API key lacks the scope mcp.write.');
  return '';
}
