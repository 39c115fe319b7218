import { z } from 'zod';
import { headerSecret as secret, plainAuth, plainAuthView } from './plain-auth.ts';

/** How requests to MCP servers are authenticated. */

/** Scopes with a space between them (RFC 6749, 3.3). */
const oauthScope = z
  .string()
  .max(1_000)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    'must be scopes, one space between them',
  );
const clientId = secret.max(2_000);

/** How requests to a server are authenticated, with secrets. */
export const mcpAuth = z.discriminatedUnion('type', [
  ...plainAuth.options,
  z.strictObject({
    type: z.literal('oauth_client_credentials'),
    client_id: clientId,
    client_secret: secret,
    scope: oauthScope.optional(),
  }),
  z
    .strictObject({
      type: z.literal('oauth'),
      per_user: z.boolean().default(false).describe('Whether each user gives a consent of their own'),
      client_id: clientId.optional().describe('Without it, the gateway registers itself as a client'),
      client_secret: secret.optional(),
      scope: oauthScope.optional(),
    })
    .refine((auth) => auth.client_secret === undefined || auth.client_id !== undefined, {
      path: ['client_id'],
      message: 'is required with client_secret',
    })
    .meta({ dependentRequired: { client_secret: ['client_id'] } }),
]);
export type McpAuth = z.output<typeof mcpAuth>;

/** The same as it is shown: whether secrets are set, never the secrets. */
export const mcpAuthView = z.discriminatedUnion('type', [
  ...plainAuthView.options,
  z.strictObject({
    type: z.literal('oauth_client_credentials'),
    client_id: z.string(),
    client_secret_set: z.boolean(),
    scope: z.string().nullable(),
  }),
  z.strictObject({
    type: z.literal('oauth'),
    per_user: z.boolean(),
    client_id: z.string().nullable(),
    client_secret_set: z.boolean(),
    scope: z.string().nullable(),
  }),
]);
export type McpAuthView = z.output<typeof mcpAuthView>;
