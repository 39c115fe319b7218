import type { McpAuth, ShownMcpAuth } from '@gatehouse/contract/mcp-auth';
import type {
  CreateMcpServer,
  McpStatus,
  McpTransport,
  McpTrust,
  PatchMcpServer,
  WireMcpServer,
} from '@gatehouse/contract/mcp-servers';
import { mergePatch } from '../shared/merge-patch.ts';
import type { McpTool } from './mcp-tool.ts';
import { modelNames } from './model-names.ts';
import type { OAuthBinding } from './oauth-binding.ts';
import { acceptance, digestOf, type AcceptedTool } from './tool-review.ts';
import { judgedSchema } from './tool-schema.ts';

/** The public part of the authentication of a server. */
export type PublicAuth =
  | { type: 'none' }
  | { type: 'bearer' }
  | { type: 'headers'; names: string[] }
  | { type: 'oauth_client_credentials'; clientId: string; scope: string | null }
  | {
      type: 'oauth';
      perUser: boolean;
      /** Null: the gateway registers itself. */
      clientId: string | null;
      hasSecret: boolean;
      scope: string | null;
    };

/** The secret part of it. */
export type AuthSecrets =
  | { token: string }
  | { headers: Record<string, string> }
  | {
      client_secret?: string;
      /** The gateway's own registration. */
      binding?: OAuthBinding;
    };

/** Decrypts the secrets of a server. */
export type OpenSecrets = (server: Pick<McpServer, 'tenantId' | 'id'>, sealed: Buffer) => AuthSecrets;
/** Encrypts the secrets of a server. */
export type SealSecrets = (server: Pick<McpServer, 'tenantId' | 'id'>, secrets: AuthSecrets) => Buffer;

/** Settings of a tenant for a server. */
export interface McpSettings {
  name: string;
  url: string;
  transport: McpTransport;
  auth: PublicAuth;
  toolFilter: { allow: string[]; deny: string[] };
  timeoutMs: number;
  enabled: boolean;
  /** Whether changed definitions of tools are used without a review. */
  trust: McpTrust;
}

/** A server without its lists, which may have megabytes. */
export interface McpServerHead extends Omit<McpSettings, 'toolFilter'> {
  id: string;
  tenantId: string;
  /** Encrypted; null if they are not set. */
  secrets: Buffer | null;
  status: McpStatus;
  statusReason: string | null;
  /** Another one after a change of what a connection depends on. */
  connectionId: string;
  protocolVersion: string | null;
  /** Another one after each change of the lists and of the filter of tools. */
  toolsRevision: string;
  toolsUpdatedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface McpServer extends McpServerHead {
  toolFilter: McpSettings['toolFilter'];
  /** Empty where each user has a list of their own. */
  tools: McpTool[];
  accepted: AcceptedTool[];
}

/** The health of a server, as far as it is known. */
interface ServerHealth {
  /** Whether the list of its tools is older than its time to live. */
  isStale: boolean;
  /** Seconds until it may be called again; 0 if it may. */
  retryInS: number;
}

/** A stored server without its lists, and what is known of its health. */
export type KnownHead = McpServerHead & ServerHealth;
export type KnownServer = McpServer & ServerHealth;

/** Splits what a client gives into what may be shown and what may not. */
export function splitAuth(auth: McpAuth): { auth: PublicAuth; secrets: AuthSecrets | null } {
  switch (auth.type) {
    case 'none':
      return { auth, secrets: null };
    case 'bearer':
      return { auth: { type: auth.type }, secrets: { token: auth.token } };
    case 'headers':
      return {
        auth: { type: auth.type, names: Object.keys(auth.headers) },
        secrets: { headers: auth.headers },
      };
    case 'oauth_client_credentials': {
      const { type, client_id: clientId, client_secret, scope = null } = auth;
      return { auth: { type, clientId, scope }, secrets: { client_secret } };
    }
    case 'oauth': {
      const { type, per_user: perUser, client_id: clientId = null, client_secret, scope = null } = auth;
      const hasSecret = client_secret !== undefined;
      return {
        auth: { type, perUser, clientId, hasSecret, scope },
        secrets: hasSecret ? { client_secret } : null,
      };
    }
  }
}

export function newSettings(body: CreateMcpServer): McpSettings {
  const { name, url, transport, enabled, trust, tool_filter: toolFilter, timeout_ms: timeoutMs } = body;
  return { name, url, transport, enabled, trust, toolFilter, timeoutMs, auth: splitAuth(body.auth).auth };
}

/** The settings after a patch. Members of the tool filter that it lacks are kept; `auth` is replaced as a whole. */
export function patchedSettings(before: McpSettings, patch: PatchMcpServer): McpSettings {
  const { tool_filter: toolFilter, timeout_ms: timeoutMs, auth, ...others } = patch;
  // A patch has only values of the full shape, so the result has the full shape again.
  const after = mergePatch(before, { ...others, toolFilter, timeoutMs }) as McpSettings;
  return auth === undefined ? after : { ...after, auth: splitAuth(auth).auth };
}

/** Whether a change of settings makes the connection another one. */
export function connectsDifferently(before: McpSettings, patch: PatchMcpServer): boolean {
  const { url = before.url, transport = before.transport, auth } = patch;
  return auth !== undefined || url !== before.url || transport !== before.transport;
}

/** Whether the tenant has set what authenticates requests. Consents are apart from that. */
export function hasAuth({ auth, secrets }: Pick<McpServer, 'auth' | 'secrets'>): boolean {
  const needsNone = auth.type === 'none' || (auth.type === 'oauth' && !auth.hasSecret);
  return needsNone || secrets !== null;
}

/** Whether each user has a login of their own. */
export function isPerUser({ auth }: Pick<McpServer, 'auth'>): boolean {
  return auth.type === 'oauth' && auth.perUser;
}

/** The user whose login a call uses; empty for the shared login, and without a user. */
export function loginUserOf(server: Pick<McpServer, 'auth'>, user: string | null): string {
  return isPerUser(server) ? (user ?? '') : '';
}

/** Whether the tenant lets agents use a tool. */
export function isEnabled({ toolFilter }: Pick<McpServer, 'toolFilter'>, tool: string): boolean {
  const { allow, deny } = toolFilter;
  return !deny.includes(tool) && (allow.length === 0 || allow.includes(tool));
}

/** `own`: the list of the acting user, of a server where each user has one. */
export function showServer(
  server: McpServer,
  own: { tools: readonly McpTool[]; accepted: readonly AcceptedTool[] } | null = null,
): WireMcpServer {
  const { id, name, url, transport, enabled, status, trust } = server;
  const tools = isPerUser(server) ? (own?.tools ?? []) : server.tools;
  const accepted = [...(own?.accepted ?? []), ...server.accepted];
  const names = modelNames(tools.map((tool) => ({ server: name, tool: tool.name })));
  const isAccepted = acceptance({ trust, accepted });
  return {
    ...{ id, name, url, transport },
    auth: showAuth(server),
    tool_filter: server.toolFilter,
    timeout_ms: server.timeoutMs,
    ...{ enabled, trust, status },
    status_reason: server.statusReason,
    protocol_version: server.protocolVersion,
    tools: tools.map((tool, index) => ({
      name: tool.name,
      model_name: names[index] ?? '',
      description: tool.description,
      input_schema: tool.inputSchema,
      read_only: tool.readOnly,
      idempotent: tool.idempotent,
      enabled: isEnabled(server, tool.name),
      ...usabilityOf(tool),
      ...reviewOf(tool, { isAccepted: isAccepted(tool), accepted }),
    })),
    tools_updated_at: server.toolsUpdatedAt?.toISOString() ?? null,
    created_at: server.createdAt.toISOString(),
    updated_at: server.updatedAt.toISOString(),
  };
}

function usabilityOf(tool: McpTool): Pick<WireMcpServer['tools'][number], 'usable' | 'reason'> {
  const reason = tool.unusable === undefined ? judgedSchema(tool.inputSchema).reason : tool.unusable;
  return { usable: reason === null, reason };
}

function reviewOf(
  tool: McpTool,
  by: { isAccepted: boolean; accepted: readonly AcceptedTool[] },
): Pick<WireMcpServer['tools'][number], 'digest' | 'status' | 'accepted'> {
  const digest = digestOf(tool);
  if (by.isAccepted) return { digest, status: 'accepted', accepted: null };
  const before = by.accepted.find(({ name }) => name === tool.name)?.definition;
  return {
    digest,
    status: 'needs_review',
    accepted:
      before === undefined
        ? null
        : {
            description: before.description,
            input_schema: before.inputSchema,
            read_only: before.readOnly,
            idempotent: before.idempotent,
          },
  };
}

function showAuth({ auth, secrets }: McpServer): ShownMcpAuth {
  const set = secrets !== null;
  switch (auth.type) {
    case 'none':
      return auth;
    case 'bearer':
      return { type: auth.type, token_set: set };
    case 'headers':
      return { type: auth.type, headers: auth.names.map((name) => ({ name, set })) };
    case 'oauth_client_credentials': {
      const { type, clientId, scope } = auth;
      return { type, client_id: clientId, client_secret_set: set, scope };
    }
    case 'oauth': {
      const { type, perUser, clientId, hasSecret, scope } = auth;
      return { type, per_user: perUser, client_id: clientId, client_secret_set: hasSecret && set, scope };
    }
  }
}
