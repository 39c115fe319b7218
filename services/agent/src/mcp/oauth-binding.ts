import type { AuthorizationServerMetadata, OAuthClientInformation } from '@modelcontextprotocol/client';

/** The endpoint at which tokens are revoked (RFC 7009), and the ways in which a client authenticates there. */
export interface RevocationEndpoint {
  url: string;
  methods: string[];
}

/** The terms of a consent: the server giving tokens, the client getting them, and their resource. */
export interface OAuthBinding {
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformation;
  /** The endpoint at which the gateway registered the client; absent for clients of the tenant. */
  registration?: string | undefined;
  /** Null without one; absent in bindings stored before revocations were known. */
  revocation?: RevocationEndpoint | null;
  /** The resource indicator (RFC 8707); null if the server names no resource. */
  resource: string | null;
  scope: string | null;
  /** The redirect URL registered for the client. */
  redirectUrl: string;
}
