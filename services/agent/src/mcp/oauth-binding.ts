import type { AuthorizationServerMetadata, OAuthClientInformation } from '@modelcontextprotocol/client';

/** The terms of a consent: the server that gives tokens, the client that gets them, and their resource. */
export interface OAuthBinding {
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformation;
  /** The resource indicator (RFC 8707); null if the server names none. */
  resource: string | null;
  scope: string | null;
  /** The redirect URL that is registered for the client. */
  redirectUrl: string;
}
