import type { BearerTokens } from './bearer-fetch.ts';
import type { AuthSecrets } from './mcp-server.ts';

/** How the requests of one connection are authenticated. */
export interface ServerAccess {
  /** Null if it is the same for all users. */
  loginId: string | null;
  headers: Readonly<Record<string, string>>;
  /** For changing tokens. */
  tokens: BearerTokens | null;
}

/** The headers for these secrets. */
export function headersOf(secrets: AuthSecrets | null): Record<string, string> {
  if (secrets === null) return {};
  if ('token' in secrets) return { authorization: `Bearer ${secrets.token}` };
  return 'headers' in secrets ? secrets.headers : {};
}
