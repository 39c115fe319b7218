import { expect, it } from '@jest/globals';
import type { OAuthBinding } from './oauth-binding.ts';
import { revocationEndpointOf, revocationRequest } from './token-revocation.ts';

const endpoints = {
  issuer: 'https://login.example',
  authorization_endpoint: 'https://login.example/authorize',
  token_endpoint: 'https://login.example/token',
  response_types_supported: ['code'],
};
const token = { token: 'secret-token', kind: 'refresh_token' } as const;

function requestOf(more: Record<string, unknown>, client: OAuthBinding['client']) {
  const revocation = revocationEndpointOf({ ...endpoints, ...more });
  const terms = { metadata: endpoints, resource: null, scope: null, redirectUrl: '' };
  const request = revocationRequest({ ...terms, client, revocation }, token);
  const { authorization = null } = Object(request?.init.headers) as { authorization?: string };
  return request && { url: request.url.href, form: request.init.body.toString(), authorization };
}

const url = 'https://login.example/revoke';
const open = { client_id: 'one' };
const closed = { ...open, client_secret: 'two' };
const ofToken = 'token=secret-token&token_type_hint=refresh_token';
const basic = `Basic ${Buffer.from('one:two').toString('base64')}`;

it.each<
  [string, Record<string, unknown>, OAuthBinding['client'], [form: string, authorization: string | null]]
>([
  ['by its id alone without a secret', {}, open, [`${ofToken}&client_id=one`, null]],
  ['by the basic scheme where the metadata names none', {}, closed, [ofToken, basic]],
  [
    'in the form where tokens are given so',
    { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    closed,
    [`${ofToken}&client_id=one&client_secret=two`, null],
  ],
  [
    'as the endpoint has it, whatever that for tokens has',
    {
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic'],
    },
    closed,
    [ofToken, basic],
  ],
])('a client proves itself %s', (_name, more, client, [form, authorization]) => {
  expect(requestOf({ revocation_endpoint: url, ...more }, client)).toEqual({ url, form, authorization });
});

it.each([
  [undefined],
  [null],
  [5],
  ['no url'],
  [`https://login.example/${'x'.repeat(3_000)}`],
  ['https://elsewhere.example/revoke'],
  ['https://login.example:444/revoke'],
])('an endpoint that is none gets no request: %s', (revocation_endpoint) => {
  expect(requestOf({ revocation_endpoint }, open)).toBeNull();
});

it('a binding from before has no endpoint', () => {
  const terms = { metadata: endpoints, resource: null, scope: null, redirectUrl: '' };
  expect(revocationRequest({ ...terms, client: open }, token)).toBeNull();
});

it('no token goes to another machine in the clear', () => {
  const at = (origin: string): object => ({
    token_endpoint: `${origin}/token`,
    revocation_endpoint: `${origin}/revoke`,
  });
  expect(() => requestOf({ ...at('http://login.example') }, open)).toThrow();
  expect(requestOf({ ...at('http://127.0.0.1') }, open)).not.toBeNull();
});
