import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { guardedUser } from './guarding.ts';
import { chatAnswer, usage } from './guarded-apis.ts';
import { makePassage } from './memory-stand-in.ts';
import { bodyOf, changes } from './outside-guards.ts';
import type { Fields } from './response-answers.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

/** Guardrails by a server on the additions of agents, on embeddings and on turns of services. */

let provider: ScriptedProvider;
let guard: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  [provider, guard] = [await ScriptedProvider.start(), await ScriptedProvider.start()];
  harness = await translatingHarness(provider, [{ id: 'small', provider: 'simulator', reasoning: false }]);
});
beforeEach(() => {
  provider.answer();
  guard.answer();
  harness.memory.passages = [];
  harness.agents.clear();
  harness.toolLists.tools = [];
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
  guard.stop();
});

type As = { tenantId: string; userId: string };
type Definition = Partial<GuardrailDefinition>;

const auth = { type: 'none' as const };
const webhook = (fields: Definition = {}): Definition => ({
  check: { type: 'webhook', url: guard.url, auth, params: {} },
  ...fields,
});
const received = (): string => provider.received.at(-1)?.body.toString() ?? '';
/** The texts of a request to LiteLLM's API. */
const textsAt = (index: number): unknown => {
  const request = guard.received[index];
  return request && bodyOf(request)['texts'];
};
const ask = (body: Fields, principal: As): Promise<Response> =>
  harness.post('/v1/chat/completions', body, { principal });

describe('an agent', () => {
  it('has its prompt, its parameters, its tools and its passages checked with the request, in one call', async () => {
    const memory = { enabled: true, recallLimit: 3, write: true, analyser: 'simple', minScore: 0.4 };
    const tools = { maxIterations: 2 };
    harness.agents.set(
      'worker',
      makeAgent({
        ...{ key: 'worker', systemPrompt: 'Serve Ada.', memory, tools },
        parametersJson: '{"temperature":0.25,"stop":["End, Ada"]}',
      }),
    );
    const orders = { name: 'orders__lookup', description: 'Of Ada.', schemaJson: '{"type":"object"}' };
    harness.toolLists.tools = [
      {
        ...{ ...orders, tool: 'lookup', serverId: newId(), serverName: 'orders', timeoutMs: 5_000 },
        ...{ executor: 'agent', repeatable: true },
      },
    ];
    harness.memory.passages = [makePassage({ text: 'Ada was here.' })];
    guard.answer(changes((text) => text.replaceAll('Ada', '[NAME]')));
    provider.answer(whole(chatAnswer));
    const principal = guardedUser(
      harness,
      webhook({ action: 'mask', on: ['system', 'user', 'tool_result'] }),
    );
    const body = { model: 'agent:worker', messages: [{ role: 'user', content: 'I am Ada.' }] };
    expect((await ask(body, principal)).status).toBe(200);
    expect(guard.received).toHaveLength(1);
    expect(textsAt(0)).toEqual(expect.arrayContaining(['I am Ada.', 'Serve Ada.', 'Of Ada.']));
    for (const text of [
      'I am [NAME].',
      'Serve [NAME].',
      'Of [NAME].',
      '[NAME] was here.',
      'End, [NAME]',
      '"temperature":0.25',
    ])
      expect(received()).toContain(text);
    expect(received()).not.toContain('Ada');
    await eventually(() => expect(harness.memory.turns.at(-1)?.input).toBe('I am [NAME].'));
  });

  it('gets results of its tools checked, and a sentence where the check fails', async () => {
    harness.agents.set('worker', makeAgent({ key: 'worker', tools: { maxIterations: 2 } }));
    harness.toolLists.tools = [
      {
        ...{ name: 'orders__lookup', description: 'Looks up.', schemaJson: '{"type":"object"}' },
        ...{ tool: 'lookup', serverId: newId(), serverName: 'orders', timeoutMs: 5_000 },
        ...{ executor: 'agent', repeatable: true },
      },
    ];
    harness.callTool = () => Promise.resolve({ content: 'Ada ordered. ann.lee@gmail.com', outcome: 'ok' });
    const call = { id: 't', type: 'function', function: { name: 'orders__lookup', arguments: '{}' } };
    const calling = {
      ...{ ...chatAnswer, usage },
      choices: [
        {
          ...{ index: 0, finish_reason: 'tool_calls' },
          message: { role: 'assistant', content: null, tool_calls: [call] },
        },
      ],
    };
    const results = { on: ['tool_result' as const] };
    const principal = guardedUser(
      harness,
      { ...results, action: 'mask' },
      webhook({ ...results, action: 'mask' }),
    );
    const body = { model: 'agent:worker', messages: [{ role: 'user', content: 'Hi.' }] };
    guard.answer(changes((text) => text.replace('Ada', '[NAME]')));
    provider.answer(whole(calling), whole(chatAnswer));
    expect((await ask(body, principal)).status).toBe(200);
    expect(textsAt(0)).toEqual(['Ada ordered. [EMAIL]']);
    expect(received()).toContain('[NAME] ordered. [EMAIL]');
    guard.answer(whole({}, 500));
    provider.answer(whole(calling), whole(chatAnswer));
    expect((await ask(body, principal)).status).toBe(200);
    expect(received()).toContain('The result is withheld');
    expect(received()).not.toContain('Ada');
  });
});

it('masks inputs of embeddings, and turns of services', async () => {
  guard.answer(changes((text) => text.replace('Ada', '[NAME]')));
  provider.answer(whole({ data: [{ embedding: [1], index: 0 }], model: 'small', usage }));
  const principal = guardedUser(harness, webhook({ action: 'mask' }));
  const embedded = await harness.post('/v1/embeddings', { model: 'small', input: ['Ada'] }, { principal });
  expect(embedded.status).toBe(200);
  expect(JSON.parse(received())).toMatchObject({ input: ['[NAME]'] });
  const webhookPeer = await harness.peer('webhook');
  const signer = await harness.identity.signer('webhook');
  const agent = makeAgent({ key: 'answers' });
  harness.agents.set(agent.id, agent);
  guard.answer(changes((text) => text.replace('Ada', '[NAME]')));
  provider.answer(whole(chatAnswer));
  const requestJson = JSON.stringify({ messages: [{ role: 'user', content: 'I am Ada.' }] });
  const { tenantId } = principal;
  const assertion = await signer.delegation({ tenantId, agentId: agent.id, userId: null });
  await webhookPeer.call(
    'complete',
    { agent: agent.id, callId: newId(), channel: 'telegram', requestJson },
    { deadlineMs: 10_000, assertion },
  );
  expect(received()).toContain('I am [NAME].');
});

it('replaces what it blocks in texts of memory, which are of earlier requests', async () => {
  guard.answer(whole({ action: 'BLOCKED', blocked_reason: 'A name.' }));
  provider.answer(whole(chatAnswer));
  harness.agents.set('extractor', makeAgent({ key: 'extractor', model: 'small' }));
  const memory = await harness.peer('memory');
  const requestJson = JSON.stringify({ messages: [{ role: 'user', content: 'I am Ada.' }] });
  const principal = makePrincipal(guardedUser(harness, webhook({ on: ['user'] })));
  await memory.call(
    'complete',
    { agent: 'extractor', callId: newId(), requestJson },
    { deadlineMs: 10_000, assertion: await harness.identity.assertion(principal) },
  );
  expect(textsAt(0)).toEqual(['I am Ada.']);
  expect(JSON.parse(received())).toMatchObject({ messages: [{ content: '[BLOCKED]' }] });
});
