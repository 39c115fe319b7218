import type { McpStatus, McpTransport, McpTrust } from '@gatehouse/contract/mcp-servers';
import { sentenceOf } from './failure.ts';
import type { McpTool } from './mcp-tool.ts';
import type { OAuthBinding } from './oauth-binding.ts';
import type { AcceptedTool } from './tool-review.ts';

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
  /** The issuer of the tenant's client; null until it is found, and without a client of the tenant. */
  clientIssuer: string | null;
  /** Another issuer named by the server later: nothing is authenticated until an admin sends `auth` again. */
  otherIssuer: string | null;
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

/** Why the tenant must send `auth` again before requests can be authenticated; null if it need not. Consents are apart. */
export function authProblemOf({
  auth,
  secrets,
  otherIssuer,
}: Pick<McpServer, 'auth' | 'secrets' | 'otherIssuer'>): string | null {
  if (otherIssuer !== null) return sentenceOf('other_issuer');
  const needsNone = auth.type === 'none' || (auth.type === 'oauth' && !auth.hasSecret);
  return needsNone || secrets !== null ? null : 'The secrets are not set.';
}

/** Whether each user has a login of their own. */
export function isPerUser({ auth }: Pick<McpServer, 'auth'>): boolean {
  return auth.type === 'oauth' && auth.perUser;
}

/** The user of the login for a call; empty for the shared login, and without a user. */
export function loginUserOf(server: Pick<McpServer, 'auth'>, user: string | null): string {
  return isPerUser(server) ? (user ?? '') : '';
}

/** Whether the tenant lets agents use a tool. */
export function isEnabled({ toolFilter }: Pick<McpServer, 'toolFilter'>, tool: string): boolean {
  const { allow, deny } = toolFilter;
  return !deny.includes(tool) && (allow.length === 0 || allow.includes(tool));
}
