import type { McpAuth } from '@gatehouse/contract/mcp-auth';
import type { CreateMcpServer, PatchMcpServer } from '@gatehouse/contract/mcp-servers';
import type { AuthSecrets, McpSettings, PublicAuth } from '../mcp/mcp-server.ts';
import { mergePatch } from '../shared/merge-patch.ts';

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

/** The settings after a patch. Members missing from its tool filter are kept; `auth` is replaced as a whole. */
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
