import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { call, chatBody, read } from '../test-client.ts';
import { apiVersion, callMessages, messagesBody } from './messages-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

const path = '/v1/messages/count_tokens';

describe('count_tokens', () => {
  it('counts tools, system text and messages, without a charge', async () => {
    const tools = [{ name: 'go', input_schema: { type: 'object' } }];
    const body = messagesBody([{ type: 'text', text: 'how many?' }], { system: 'Be brief.', tools });
    const seen = await callMessages(simulator, body, { path });
    const tool = Math.ceil(JSON.stringify(tools[0]).length / 4);
    expect([seen.status, JSON.parse(seen.text)]).toEqual([200, { input_tokens: 3 + tool + 3 + 3 + 3 }]);
    expect(seen.headers['request-id']).toMatch(/^req_/);
    expect(simulator.requests.at(-1)).toMatchObject({ model: 'claude-sonnet-5-5', usage: null });
  });
});

describe('credentials', () => {
  it('come in x-api-key or as a bearer token, and records keep neither', async () => {
    const locked = await startProviderSimulator({ apiKey: 'sk-right' });
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await callMessages(locked, messagesBody('hi'), { path, headers })).status;
    expect(await statusWith({ 'x-api-key': 'sk-right' })).toBe(200);
    expect(await statusWith({ authorization: 'Bearer sk-right' })).toBe(200);
    expect(await statusWith({})).toBe(401);
    const wrong = await callMessages(locked, messagesBody('hi'), {
      path,
      headers: { 'x-api-key': 'sk-wrong' },
    });
    const chat = await call(locked, chatBody('hi'), { headers: { 'x-api-key': 'sk-right' } });
    await locked.close();
    expect(JSON.parse(wrong.text)).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: 'invalid x-api-key' },
      request_id: wrong.headers['request-id'],
    });
    expect(chat.status).toBe(401);
    const seen = locked.requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization);
    expect(seen).toEqual(['matched', 'matched', undefined, 'mismatched', 'matched']);
  });
});

describe('errors', () => {
  it.each([
    ['no version', messagesBody('hi'), undefined, /^anthropic-version: header is required$/],
    ['an unknown version', messagesBody('hi'), '2020-01-01', /^anthropic-version: "2020-01-01"/],
    ['no JSON', 'oops', '2023-06-01', /JSON/],
    ['no model', { messages: [{ role: 'user', content: 'hi' }] }, '2026-10-21', /^model:/],
    ['no messages', { model: 'm' }, '2026-10-21', /^messages: Field required$/],
    ['no message', messagesBody('', { messages: [] }), '2023-06-01', /^messages: at least one/],
    ['a typo', messagesBody('hi', { x_simulator: { dealy_ms: 1 } }), '2023-06-01', /dealy_ms/],
  ])('refuse %s', async (_name, body, version, message) => {
    const headers: Record<string, string> = version === undefined ? {} : { 'anthropic-version': version };
    const seen = await call(simulator, body, { path, headers });
    expect(seen.status).toBe(400);
    expect(read(seen.text, 'type')).toBe('error');
    expect(read(seen.text, 'error', 'type')).toBe('invalid_request_error');
    expect(read(seen.text, 'error', 'message')).toEqual(expect.stringMatching(message));
    expect(read(seen.text, 'request_id')).toBe(seen.headers['request-id']);
  });

  it('answer other paths below messages in the same shape', async () => {
    const seen = await call(simulator, {}, { path: '/v1/messages/unknown', headers: apiVersion });
    expect([seen.status, read(seen.text, 'error', 'type')]).toEqual([404, 'not_found_error']);
  });
});
