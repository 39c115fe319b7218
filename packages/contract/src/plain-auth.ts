import { z } from 'zod';

/** Credentials of requests to a server of the tenant's, sent with each request. */

/** Printable ASCII without spaces at its ends, as a header can have it. */
export const headerSecret = z
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
  .record(headerName, headerSecret)
  .refine((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    return names.length <= maxHeaders && new Set(names).size === names.length;
  }, `must be at most ${maxHeaders} headers of different names`)
  .meta({ maxProperties: maxHeaders });

/** With secrets. */
export const plainAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: headerSecret }),
  z.strictObject({ type: z.literal('headers'), headers }),
]);
export type PlainAuth = z.output<typeof plainAuth>;

/** The same as it is shown: whether secrets are set, never the secrets. */
export const plainAuthView = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token_set: z.boolean() }),
  z.strictObject({
    type: z.literal('headers'),
    headers: z.array(z.strictObject({ name: z.string(), set: z.boolean() })),
  }),
]);
export type PlainAuthView = z.output<typeof plainAuthView>;
