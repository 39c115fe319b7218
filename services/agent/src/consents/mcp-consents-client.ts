import type { Changes } from '@gatehouse/audited-changes/changes';
import type { Logger } from '@gatehouse/kit/log';
import { withTenant, type Pool } from '@gatehouse/pg/pool';
import type { ConsentKind, EndPage, ProviderAnswer } from '@gatehouse/public-access/consent-flow';
import type { ConsentPage } from '@gatehouse/public-access/consent-page';
import type { ConsentTickets, OpenTicket } from '@gatehouse/public-access/consent-tickets';
import { holdTicket, putLogin } from '../logins/login-store.ts';
import type { NewLogin } from '../logins/login.ts';
import { lockMcpServer, type ServerStore } from '../servers/server-store.ts';
import type { Logins } from '../logins/logins-client.ts';
import { McpFailure } from '../mcp/failure.ts';
import type { McpRegistry } from '../mcp/mcp-registry.ts';
import { isPerUser, type McpServer } from '../mcp/mcp-server.ts';
import type { OAuthBinding } from '../mcp/oauth-binding.ts';
import { callbackPath, OAuthMixedUp, OAuthRefused, type OAuthClient, type Tokens } from '../mcp/mcp-oauth.ts';

/** Details kept with the link to a consent page. */
export interface ConsentDetails {
  binding: OAuthBinding;
  connectionId: string;
  /** Empty for a consent for all users. */
  userId: string;
}

export interface McpConsentsOptions {
  /** A pool of `agent_app`. */
  app: Pool;
  servers: ServerStore;
  changes: Pick<Changes, 'record'>;
  tickets: ConsentTickets;
  logins: Logins;
  oauth: OAuthClient;
  registry: McpRegistry;
  log: Logger;
}

type End = 'connected' | 'refused' | 'mixed_up' | 'unavailable';

/** Leads browsers to the authorization servers of MCP servers, and takes what they bring back. */
export class McpConsents implements ConsentKind<McpServer, End> {
  readonly callbackPath = callbackPath;
  readonly provider = 'The authorization server';
  /** Tenants choose the servers, and these lead on to others. */
  readonly formTarget = 'https: http:';
  readonly ends: Readonly<Record<End, EndPage>> = {
    connected: [200, 'Connected', 'Agents can use the server now. You can close this page.'],
    refused: [
      400,
      'Not connected',
      'The authorization server did not give access. Open the link again to go on.',
    ],
    mixed_up: [
      400,
      'Not connected',
      'The answer is not from the authorization server of this consent. Open the link again to go on.',
    ],
    unavailable: [
      400,
      'Not connected',
      'The authorization server could not be reached. Open the link again to go on.',
    ],
  };
  readonly #options: McpConsentsOptions;

  constructor(options: McpConsentsOptions) {
    this.#options = options;
  }

  /** The server, unless its connection has changed since the link was made. */
  async find(ticket: OpenTicket): Promise<McpServer | null> {
    const server = await this.#options.servers.find(ticket.tenantId, ticket.subjectId);
    return server?.connectionId === detailsOf(ticket).connectionId ? server : null;
  }

  page(server: McpServer, ticket: OpenTicket): ConsentPage {
    const whose = isPerUser(server) ? 'for this user' : 'for all users';
    return {
      title: 'Connect an MCP server',
      text: `If you go on, agents of this tenant use the server with your account ${whose}. Go on only if you trust all hosts below.`,
      facts: [
        ['Tenant', ticket.askedBy.tenant],
        ['Server', `${server.name}, ${new URL(server.url).host}`],
        ...endpointFacts(detailsOf(ticket).binding),
      ],
      button: 'Continue to log in',
    };
  }

  async authorizationUrl(
    ticket: OpenTicket,
    request: { state: string; verifier: string },
  ): Promise<string | null> {
    if ((await this.find(ticket)) === null) return null;
    return this.#options.oauth.authorizationUrl(detailsOf(ticket).binding, request);
  }

  /** Exchanges the code where the link says, and stores the login. */
  async finish(
    ticket: OpenTicket,
    { code, verifier, query, circumstances }: ProviderAnswer,
  ): Promise<End | 'over'> {
    const { oauth, tickets, logins, registry, log } = this.#options;
    const { binding, connectionId, userId } = detailsOf(ticket);
    const server = await this.find(ticket);
    if (server === null) return 'over';
    try {
      const iss = query['iss'] ?? null;
      const exchanged = (): Promise<Tokens> =>
        oauth.exchange(ticket.tenantId, binding, { code, verifier, iss });
      const tokens = await tickets.use(ticket, exchanged);
      if (tokens === null) return 'over';
      const { tenantId, subjectId: serverId, createdAt: madeAt } = ticket;
      const login = logins.made({ tenantId, serverId, connectionId, userId, madeAt }, binding, tokens);
      if (!(await this.#store(ticket, login, circumstances))) {
        logins.late(login, binding, tokens);
        return 'over';
      }
    } catch (error) {
      if (error instanceof OAuthMixedUp) return 'mixed_up';
      if (!(error instanceof OAuthRefused) && !(error instanceof McpFailure)) throw error;
      // Not the error: what servers send may have secrets.
      const reason = error.message;
      log.warn({ mcp_server_id: server.id, reason }, 'failed to exchange the code of a consent');
      if (error instanceof OAuthRefused && error.isUnknownClient) await logins.forgetClient(server);
      return error instanceof OAuthRefused ? 'refused' : 'unavailable';
    }
    // The status of the server shows the outcome.
    await registry.refresh(server, userId === '' ? null : userId).catch((error: unknown) => {
      if (!(error instanceof McpFailure)) throw error;
    });
    return 'connected';
  }

  /**
   * Stores the login with its audit entry. Returns false if the server or the ticket is gone, or the server is connected
   * differently now.
   */
  #store(
    { tenantId, id: ticketId, subjectId: serverId, askedBy }: OpenTicket,
    login: NewLogin,
    circumstances: ProviderAnswer['circumstances'],
  ): Promise<boolean> {
    const { app, changes } = this.#options;
    return withTenant(app, tenantId, async (db) => {
      const { connectionId, userId } = login;
      const server = await lockMcpServer(db, serverId);
      if (server?.connectionId !== connectionId || !(await holdTicket(db, ticketId))) return false;
      await putLogin(db, login);
      const { key_id, user_id, role } = askedBy;
      const after = { name: server.name, user_id: userId === '' ? null : userId };
      const change = { action: 'mcp_server.connected', id: serverId, before: null, after } as const;
      await changes.record(db, change, { actor: { key_id, role, user_id }, tenantId, ...circumstances });
      return true;
    });
  }
}

/** The host of each endpoint with a part in a consent: they may be of several servers. */
function endpointFacts({ metadata, registration, revocation }: OAuthBinding): [name: string, host: string][] {
  const endpoints = [
    ['You log in at', metadata.authorization_endpoint],
    ['The gateway gets tokens at', metadata.token_endpoint],
    ['It is registered at', registration],
    ['It revokes tokens at', revocation?.url],
  ] as const;
  return endpoints.flatMap(([name, url]) => (typeof url === 'string' ? [[name, new URL(url).host]] : []));
}

function detailsOf({ details }: OpenTicket): ConsentDetails {
  return JSON.parse(details ?? '') as ConsentDetails;
}
