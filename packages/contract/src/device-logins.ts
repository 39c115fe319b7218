import { z } from 'zod';
import { ok, route, routesWith, type Access, type Route } from './route.ts';
import { fromBrowser } from './sessions.ts';

/**
 * Keys for programs on people's machines, by a code the person confirms in a session (OAuth 2.0 Device Authorization
 * Grant, RFC 8628): `/login/device`, `/login/token`, `/login/revoke` and the page `/device`. Requests are forms, as the
 * RFC has them, or JSON; unknown members are ignored (RFC 6749 §3.1).
 */

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
export const refreshGrant = 'refresh_token';

const code = z.string().max(256);

export const startDeviceLogin = z.object({
  client_id: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters without spaces')
    .describe('The name of the program, which the person is shown'),
});

export const startedDeviceLogin = z.strictObject({
  device_code: z.string().describe('For `POST /login/token`; keep it secret'),
  user_code: z.string().describe('The code that the person confirms, such as `BCDF-GHJK`'),
  verification_uri: z.string().describe('The page for it'),
  verification_uri_complete: z.string().describe('The same with the code'),
  expires_in: z.int().describe('Seconds for which both codes are valid'),
  interval: z.int().describe('The fewest seconds between two polls'),
});
export type StartedDeviceLogin = z.output<typeof startedDeviceLogin>;

export const getToken = z.object({
  grant_type: z.string().max(128).describe(`\`${deviceGrant}\` or \`${refreshGrant}\``),
  device_code: code.optional().describe('`device_code` of the response of `POST /login/device`'),
  refresh_token: code.optional().describe('The present key, in place of `device_code`'),
  client_id: z.string().max(64).optional().describe('Not used'),
});

export const token = z.strictObject({
  access_token: z.string().describe('The text of an API key; shown only in this response'),
  token_type: z.literal('Bearer'),
  expires_in: z.int().describe('Seconds until the key expires'),
  scope: z.string().describe('The scopes of the key, with spaces between them'),
});
export type Token = z.output<typeof token>;

export const revokeToken = z.object({
  token: code.describe('The text of the key'),
  token_type_hint: z.string().max(64).optional().describe('Not used'),
});

export const revokedToken = z.strictObject({}).describe('Nothing');

/** No headers of the client: the codes and keys in the body prove all. */
const byBody: Access = { kind: 'ticket', headers: [] };

const oauth = routesWith({ service: 'tenant', access: byBody, bodyLimit: 4_096, takesForm: true });

const deviceCode = 'Vb1LxWm6RzUeJ2oFhN5sPd9GaC4iVt7MyX0wEkq3T8Y';
const keyText = 'gwk_7Hq2LmXw9RtB4cNz_kq3T8vYb1LxWm6RzUeJ2oFhN5sPd9GaC4iVt7MyX0wE';

export const routes: readonly Route[] = [
  oauth('login.device', 'POST /login/device', {
    body: startDeviceLogin,
    response: ok(startedDeviceLogin),
    oauthErrors: ['invalid_request'],
    summary: 'Start the device authorization grant for a program',
    description:
      'The device authorization request of RFC 8628. Show the person `verification_uri` and `user_code`, then poll `POST /login/token`. A network may start 60 a minute.',
    examples: {
      program: {
        summary: 'A program',
        body: { client_id: 'gatehouse' },
        response: {
          device_code: deviceCode,
          user_code: 'BCDF-GHJK',
          verification_uri: 'https://gateway.example.com/device',
          verification_uri_complete: 'https://gateway.example.com/device?user_code=BCDF-GHJK',
          expires_in: 600,
          interval: 5,
        },
      },
    },
  }),
  oauth('login.token', 'POST /login/token', {
    body: getToken,
    response: ok(token),
    oauthErrors: [
      ...(['invalid_request', 'invalid_grant', 'unsupported_grant_type', 'authorization_pending'] as const),
      ...(['slow_down', 'access_denied', 'expired_token'] as const),
    ],
    summary: 'Get the key, or renew it',
    description:
      'The token request of RFC 8628 and RFC 6749. The key has the rights of the session that confirmed it, and ends with the key of that session. With `refresh_token`, a key that was made here gets a new text and its whole lifetime again; the text before stays valid for 10 minutes. A key is renewed once a minute at most.',
    examples: {
      poll: {
        summary: 'After the person has confirmed the code',
        body: { grant_type: deviceGrant, device_code: deviceCode, client_id: 'gatehouse' },
        response: {
          access_token: keyText,
          token_type: 'Bearer',
          expires_in: 43_200,
          scope: 'chat agents.read memory.read memory.write analytics.read cookies.write',
        },
      },
    },
  }),
  oauth('login.revoke', 'POST /login/revoke', {
    body: revokeToken,
    response: ok(revokedToken),
    oauthErrors: ['invalid_request', 'unsupported_token_type'],
    summary: 'Revoke the key of a program',
    description:
      'RFC 7009: a text that is no valid key is no error. Other keys than those of `POST /login/token` return `unsupported_token_type`. Takes effect within 5 seconds.',
    examples: { key: { summary: 'A key', body: { token: keyText }, response: {} } },
  }),
];

/** Routes for browsers only: not part of the OpenAPI document. */
export const pageRoutes: readonly Route[] = [
  route('device.page', 'GET /device', {
    service: 'tenant',
    access: { kind: 'ticket', headers: ['cookie'] },
    query: z.strictObject({ user_code: z.string().max(64).optional() }),
    response: { status: 200, shape: null },
    summary: 'The page where a person looks at a code, and confirms it',
  }),
  route('device.form', 'POST /device', {
    service: 'tenant',
    access: { kind: 'ticket', headers: fromBrowser },
    response: { status: 200, shape: null },
    summary: 'Its form: allows or denies a key',
  }),
];
