import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';
import { refusedEntries } from './refused-entries.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(() => harness.stop());
beforeEach(() => {
  harness.takesEvents = true;
});

const refusedOf = (tenantId: string) => refusedEntries(harness, tenantId);

it('publishes requests that are refused before any provider call, with what is known of them', async () => {
  const principal = { tenantId: newId(), keyId: newId(), userId: 'ada', boundUser: 'ada' };
  const sent = harness.simulator.requests.length;
  const headers = { 'user-agent': 'curl/8.5.0', 'x-session-id': 'order-4711', 'x-request-id': 'request-1' };
  const response = await harness.post('/v1/chat/completions', chat('hi', { model: 'gpt-9' }), {
    ...{ principal, headers },
  });
  expect(response.status).toBe(404);
  await eventually(() => expect(refusedOf(principal.tenantId)).toHaveLength(1));
  expect(harness.simulator.requests).toHaveLength(sent);
  expect(refusedOf(principal.tenantId)).toMatchObject([
    {
      ...{ code: 'model_not_found', model: '', operation: 'chat', dialect: 'chat' },
      ...{ client: 'curl', channel: 'api', user_id: 'ada', api_key_id: principal.keyId, count: 1 },
      details: [{ request_id: 'request-1', session_id: 'order-4711', request_model: 'gpt-9' }],
    },
  ]);
});

it('counts a limit that is reached, a body that is no JSON, and other dialects', async () => {
  const tenantId = newId();
  harness.settings.set(tenantId, { limited: [Resource.REQUESTS] });
  harness.usedUp.add(tenantId);
  const principal = { tenantId };
  for (let sent = 0; sent < 3; sent += 1)
    await harness.post('/v1/chat/completions', chat('hi', { model: 'small' }), { principal });
  const other = newId();
  await harness.post('/v1/chat/completions', '{', { principal: { tenantId: other } });
  await harness.post(
    '/v1/messages',
    { model: 'none', max_tokens: 5, messages: [] },
    {
      ...{ principal: { tenantId: other } },
    },
  );
  await harness.post('/v1/embeddings', { model: 'none', input: 'hi' }, { principal: { tenantId: other } });
  await eventually(() => {
    expect(refusedOf(tenantId).reduce((sum, { count }) => sum + count, 0)).toBe(3);
    expect(refusedOf(other).map(({ code, operation, dialect }) => [dialect, operation, code])).toEqual([
      ['chat', 'chat', 'invalid_json'],
      ['messages', 'chat', expect.any(String)],
      ['chat', 'embeddings', 'model_not_found'],
    ]);
  });
  // The limit is checked before the body is read.
  expect(refusedOf(tenantId)[0]).toMatchObject({ code: 'rate_limit_exceeded', model: '' });
});

it('counts neither runs nor what a provider refuses', async () => {
  const principal = { tenantId: newId() };
  const ok = await harness.post('/v1/chat/completions', chat('hi', { model: 'small' }), { principal });
  expect(ok.status).toBe(200);
  const x_simulator = { status: 400, error: { message: 'too long', code: 'context_length_exceeded' } };
  const body = chat('hi', { model: 'small', x_simulator });
  expect((await harness.post('/v1/chat/completions', body, { principal })).status).toBe(400);
  await harness.post('/v1/chat/completions', chat('hi', { model: 'none' }), { principal });
  await eventually(() =>
    expect(refusedOf(principal.tenantId)).toMatchObject([
      { model: '', details: [{ request_model: 'none' }] },
    ]),
  );
});

it('publishes later, and once, while analytics is away', async () => {
  harness.takesEvents = false;
  const principal = { tenantId: newId() };
  const refuse = () => harness.post('/v1/chat/completions', chat('hi', { model: 'none' }), { principal });
  await refuse();
  await refuse();
  harness.takesEvents = true;
  await refuse();
  await eventually(() =>
    expect(refusedOf(principal.tenantId).reduce((sum, { count }) => sum + count, 0)).toBe(3),
  );
});

it('counts by models of the catalogue alone', async () => {
  const principal = { tenantId: newId() };
  const body = chat('hi', { model: 'small' });
  await harness.post('/v1/chat/completions', body, { principal, headers: { 'x-stream-events': 'none' } });
  await harness.post('/v1/chat/completions', chat('hi', { model: 'invented' }), { principal });
  await eventually(() =>
    expect(
      refusedOf(principal.tenantId)
        .map(({ model }) => model)
        .toSorted(),
    ).toEqual(['', 'small']),
  );
});
