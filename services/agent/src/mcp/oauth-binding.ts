import type { AuthorizationServerMetadata, OAuthClientInformation } from '@modelcontextprotocol/client';

/** What is fixed when a consent is requested: who gives tokens, to which client, and for what. */
export interface OAuthBinding {
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformation;
  /** The resource indicator (RFC 8707); null if the server names none. */
  resource: string | null;
  scope: string | null;
  /** Where the client is registered to come back. */
  redirectUrl: string;
}
