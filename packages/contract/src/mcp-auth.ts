import { z } from 'zod';

/** How requests to MCP servers are authenticated. */

/** Printable ASCII without spaces at its ends, as a header can have it. */
const secret = z
  .string()
  .max(8_192)
  .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII');

/** Headers of the connection, of the protocol and of the gateway. */
const reservedHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|keep-alive|upgrade|te|trailer|expect|accept(?:-encoding)?|last-event-id|user-agent|mcp-.*|proxy-.*|sec-.*)$/i;
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits and hyphens')
  .refine((name) => !reservedHeaders.test(name), 'is set by the gateway');
const maxHeaders = 20;
const headers = z
  .record(headerName, secret)
  .refine((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    return names.length <= maxHeaders && new Set(names).size === names.length;
  }, `must be at most ${maxHeaders} headers of different names`)
  .meta({ maxProperties: maxHeaders });

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
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: secret }),
  z.strictObject({ type: z.literal('headers'), headers }),
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
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token_set: z.boolean() }),
  z.strictObject({
    type: z.literal('headers'),
    headers: z.array(z.strictObject({ name: z.string(), set: z.boolean() })),
  }),
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
