import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { apis } from './guarded-apis.ts';
import { guardedUser } from './guarding.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

/** Guardrails on the parameters of an agent, which a provider gets beside the client's request. */

const address = 'ann.lee@gmail.com';

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider);
});
beforeEach(() => provider.answer());
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

/** The body that the provider got last. */
const received = (): string => provider.received.at(-1)?.body.toString() ?? '';

const counts: Record<string, string> = {
  messages: '/v1/messages/count_tokens',
  gemini: '/v1beta/models/agent:worker:countTokens',
};

describe.each(Object.entries(apis))('parameters of an agent called by %s', (dialect, api) => {
  const schema = { type: 'object', properties: { to: { type: 'string', description: `Not ${address}.` } } };
  const parameters = {
    ...{ temperature: 0.25, stop: [`End, ${address}`] },
    response_format: { type: 'json_schema', json_schema: { name: 'mail', schema } },
  };
  const ask = (guardrail: object, path = api.path.replace('gemini:', 'agent:worker:')): Promise<Response> => {
    const parametersJson = JSON.stringify(parameters);
    harness.agents.set('worker', makeAgent({ key: 'worker', model: api.model, parametersJson }));
    return harness.post(
      path,
      { ...api.body('Hi.'), model: 'agent:worker' },
      { principal: guardedUser(harness, guardrail), headers: { 'x-gatehouse-dialect': dialect } },
    );
  };

  it('are blocked before the provider is called', async () => {
    const response = await ask({ message: 'No addresses.' });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      api.error('No addresses.', 'model'),
    ]);
    expect(provider.received).toEqual([]);
  });

  it('reach the provider masked, and the others as they were', async () => {
    provider.answer(whole(api.answer));
    expect((await ask({ action: 'mask' })).status).toBe(200);
    expect(received()).toMatch(/"temperature":0\.25\b/);
    // Responses have no member for texts that end an answer.
    if (dialect !== 'responses') expect(received()).toContain('End, [EMAIL]');
    if (dialect === 'chat') expect(received()).toContain('Not [EMAIL].');
    expect(received()).not.toContain(address);
  });

  const path = counts[dialect];
  if (path === undefined) return;
  it('are checked where tokens are counted', async () => {
    expect((await ask({}, path)).status).toBe(400);
    expect((await ask({ action: 'mask' }, path)).status).toBe(200);
    expect(provider.received).toEqual([]);
  });
});
