import { z } from 'zod';
import { listOf, page, storableText, timestamp } from './fields.ts';
import { apiKey, apiKeyExample, apiKeyWithText, rotateApiKey, textExample } from './keys.ts';
import { created, noContent, ok, pageExample, routesWith, type Route } from './route.ts';
import { scopes } from './scopes.ts';
import { session, sessionExample } from './sessions.ts';

/** Keys and sessions of the caller: `/v1/me/*`. */

export const createPersonalKey = z.strictObject({
  name: storableText(1, 200),
  scopes: z.array(z.enum(scopes)).max(scopes.length).optional().describe('Default: all that the caller has'),
  expires_at: timestamp.optional().describe('Default: the longest that the tenant allows'),
});
export type CreatePersonalKey = z.output<typeof createPersonalKey>;

export const personalKey = apiKey.extend({
  program: z.boolean().describe('Whether the device grant issued it: the program alone renews it'),
});
export type PersonalKey = z.output<typeof personalKey>;
export const personalKeyWithText = apiKeyWithText.extend({ program: personalKey.shape.program });
export const listOwn = z.strictObject(page);
export const personalKeyList = listOf(personalKey);

export const memberSession = session.extend({
  current: z.boolean().describe('Whether it is the session of this request'),
});
export type MemberSession = z.output<typeof memberSession>;
export const memberSessionList = listOf(memberSession);

const keyExample: PersonalKey = {
  ...apiKeyExample,
  ...{ id: '0198c2d0-5e7f-7b38-a9d4-3c6e8f1a2b77', name: 'Notebook', user_id: 'ada' },
  ...{ limits: null, budget: null, expires_at: '2026-04-10T09:00:00.000Z' },
  program: false,
};
const memberExample: MemberSession = {
  ...sessionExample,
  ...{ scopes: ['chat', 'agents.read'], opened_by: 'issuer', current: true },
};
const params = { id: keyExample.id };
const route = routesWith({ service: 'tenant', access: { kind: 'key', ofTenant: true } });
const keyChange = routesWith({
  service: 'tenant',
  access: { kind: 'key', ofTenant: true, notConfirmed: true },
});

export const routes: readonly Route[] = [
  route('me.api-keys.list', 'GET /v1/me/api-keys', {
    query: listOwn,
    response: ok(personalKeyList),
    summary: 'List the keys that the user has made or given to programs',
    description: 'For sessions and keys that are bound to a user.',
    examples: pageExample('The newest key', keyExample),
  }),
  keyChange('me.api-keys.create', 'POST /v1/me/api-keys', {
    idempotencyKey: true,
    body: createPersonalKey,
    response: created(personalKeyWithText),
    nullInDryRun: ['id', 'prefix', 'key'],
    summary: 'Create a key for oneself; its text is shown only in this response',
    description:
      'For sessions and keys that are bound to a user, as far as the tenant allows (`user_keys`). The key has the role `user` and no scope that the caller lacks. Its requests count as those of the key that it was made with, and it ends with that key. Keys of this kind and of programs create none.',
    examples: {
      notebook: {
        summary: 'With fewer scopes',
        body: { name: keyExample.name, scopes: keyExample.scopes },
        response: { ...keyExample, key: textExample },
      },
    },
  }),
  keyChange('me.api-keys.rotate', 'POST /v1/me/api-keys/{id}/rotate', {
    idempotencyKey: true,
    body: rotateApiKey,
    response: ok(personalKeyWithText),
    nullInDryRun: ['key'],
    summary: 'Rotate the secret of a key of the caller; the old secret works during the overlap',
    examples: {
      overlap: {
        summary: 'Both secrets work for an hour',
        params,
        body: { overlap_seconds: 3_600 },
        response: { ...keyExample, status: 'expiring', key: textExample },
      },
    },
  }),
  keyChange('me.api-keys.revoke', 'POST /v1/me/api-keys/{id}/revoke', {
    body: z.strictObject({}),
    response: ok(personalKey),
    summary: 'Revoke a key of the caller, or of a program',
    description: 'Takes effect within 5 seconds; running streams finish.',
    examples: {
      now: {
        summary: 'Without fields',
        params,
        body: {},
        response: { ...keyExample, status: 'revoked', revoked_at: '2026-01-12T08:00:00.000Z' },
      },
    },
  }),
  route('me.sessions.list', 'GET /v1/me/sessions', {
    access: { kind: 'key' },
    query: listOwn,
    response: ok(memberSessionList),
    summary: 'List the open sessions of the caller: all that were opened with the same key',
    examples: pageExample('The session of this browser', memberExample),
  }),
  route('me.sessions.delete', 'DELETE /v1/me/sessions/{id}', {
    access: { kind: 'key', notConfirmed: true },
    response: noContent,
    summary: 'End a session of the caller',
    description: 'Takes effect within 5 seconds; running streams finish.',
    examples: { session: { summary: 'A session', params: { id: memberExample.id } } },
  }),
];
