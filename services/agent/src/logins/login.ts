import type { McpServerHead } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import type { AcceptedTool } from '../mcp/tool-review.ts';

/** A login at an MCP server. */
export interface Login {
  id: string;
  tenantId: string;
  serverId: string;
  /** Empty if all users of the tenant share it. */
  userId: string;
  /** Encrypted; see `LoginSecrets`. */
  secrets: Buffer;
  isExpired: boolean;
  isRefreshDue: boolean;
  isLost: boolean;
}

/** A login no longer stored, with tokens to revoke. */
export type EndedLogin = Pick<Login, 'id' | 'tenantId' | 'serverId' | 'userId' | 'secrets'>;

/** The key of a login. */
export interface LoginOf {
  tenantId: string;
  serverId: string;
  connectionId: string;
  userId: string;
}

export interface NewLogin extends LoginOf {
  id: string;
  secrets: Buffer;
  expiresInS: number | null;
  /** Whether it can be refreshed ahead of its expiry. */
  isRenewable: boolean;
  /** The time of the request for consent: a later deletion of the user's data covers it. Null for now. */
  madeAt: Date | null;
}

/** Tools as a server listed them for one user; null if it was not asked yet. */
export interface LoginList {
  tools: McpTool[] | null;
  accepted: AcceptedTool[];
  isStale: boolean;
}

export type LoginRef = Pick<Login, 'tenantId' | 'id'>;

/** The key of the login of a user at a server; `userId` is empty for the shared one. */
export function ownerOf({ tenantId, id, connectionId }: McpServerHead, userId: string): LoginOf {
  return { tenantId, serverId: id, connectionId, userId };
}
