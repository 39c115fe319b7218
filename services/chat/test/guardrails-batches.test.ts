import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GuardrailDefinition } from '@gatehouse/contract/guardrails';
import { newId } from '@gatehouse/kit/ids';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { batchPace, linesOf, refusal, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness } from './chat-harness.ts';
import { guardedUser, guardrail } from './guarding.ts';
import { anthropicFor, anthropicRefusal, messageRequests, withClaude } from './message-batch-client.ts';

/** Guardrails on the requests of batches. */

const mail = 'Write to ann.lee@gmail.com, please.';

let simulator: ProviderSimulator;
let harness: ChatHarness;
beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'provider-key' });
  harness = await ChatHarness.start({ batchPace }, withClaude(simulator));
});
beforeEach(() => simulator.reset());
afterEach(() => simulator.reset());
afterAll(async () => {
  await harness.stop();
  await simulator.close();
});

const lines = (...texts: string[]): string =>
  linesOf(
    texts.map((content, index) => ({
      id: `l${index}`,
      body: { messages: [{ role: 'user', content }] },
    })),
  );
const filesThere = (): string =>
  JSON.stringify([...simulator.batches.files.values()].map(({ content }) => content));
const outside: Partial<GuardrailDefinition> = {
  check: { type: 'webhook', url: 'https://guard.example.com', auth: { type: 'none' }, params: {} },
};
const start = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const;

describe('a file', () => {
  it('is uploaded with its lines masked, and its batch starts', async () => {
    const client = sdkFor(harness, guardedUser(harness, { action: 'mask' }));
    const { id } = await uploaded(client, lines('Hi.', mail));
    expect(filesThere()).toContain('Write to [EMAIL], please.');
    expect(filesThere()).not.toContain('ann.lee');
    const batch = await client.batches.create({ input_file_id: id, ...start });
    expect(batch.request_counts).toMatchObject({ total: 2 });
  });

  it('is refused with the number of a blocked line', async () => {
    const client = sdkFor(harness, guardedUser(harness, { message: 'No addresses.' }));
    expect(await refusal(uploaded(client, lines('Hi.', mail)))).toMatchObject({
      ...{ status: 400, code: 'content_blocked' },
      message: expect.stringContaining('Line 2: No addresses.') as unknown,
    });
    expect(filesThere()).toBe('[]');
  });

  it('is refused only where a guardrail that selects it asks outside', async () => {
    const client = sdkFor(harness, guardedUser(harness, outside));
    expect(await refusal(uploaded(client, lines('Hi.')))).toMatchObject({
      ...{ status: 400, code: 'guardrail_too_slow' },
    });
    const other = guardedUser(harness);
    const unselected = { ...guardrail(outside), models: ['claude'] };
    harness.settings.set(other.tenantId, { guardrails: [unselected] });
    expect((await uploaded(sdkFor(harness, other), lines('Hi.'))).id).toMatch(/^file-/);
  });

  it('is refused where a guardrail substitutes values: they come back in no results', async () => {
    const client = sdkFor(harness, guardedUser(harness, { action: 'substitute' }));
    expect(await refusal(uploaded(client, lines('Hi.')))).toMatchObject({
      ...{ status: 400, code: 'guardrail_too_slow' },
    });
  });

  it('is refused where a guardrail checks answers: results of batches pass none', async () => {
    for (const on of ['answer', 'tool_call'] as const) {
      const client = sdkFor(harness, guardedUser(harness, { on: ['user', on] }));
      expect(await refusal(uploaded(client, lines('Hi.')))).toMatchObject({
        ...{ status: 400, code: 'guardrail_too_slow' },
      });
    }
    expect(filesThere()).toBe('[]');
  });

  it('starts no batch where a guardrail holds that has not checked it', async () => {
    const principal = guardedUser(harness);
    const keyId = newId();
    const some = { ...guardrail({ action: 'mask' }), apiKeys: [keyId] };
    harness.settings.set(principal.tenantId, { guardrails: [some] });
    const client = sdkFor(harness, principal);
    const { id } = await uploaded(client, lines('Hi.'));
    const guarded = sdkFor(harness, { ...principal, keyId });
    const started = guarded.batches.create({ input_file_id: id, ...start });
    expect(await refusal(started)).toMatchObject({ status: 400, code: 'guardrail_too_slow' });
    await client.batches.create({ input_file_id: id, ...start });
  });
});

describe('a batch of messages', () => {
  const requests = (text: string) =>
    messageRequests(['a', 'b'], { messages: [{ role: 'user', content: text }] });

  it('is sent with its requests masked', async () => {
    const client = anthropicFor(harness, guardedUser(harness, { action: 'mask' }));
    await client.messages.batches.create({ requests: requests(mail) });
    const sent = [...simulator.messageBatches.batches.values()].map((batch) => batch.requests);
    expect(JSON.stringify(sent)).toContain('Write to [EMAIL], please.');
    expect(JSON.stringify(sent)).not.toContain('ann.lee');
  });

  it('is refused with the place of a blocked request', async () => {
    const client = anthropicFor(harness, guardedUser(harness, {}));
    expect(
      await anthropicRefusal(client.messages.batches.create({ requests: requests(mail) })),
    ).toMatchObject({
      status: 400,
      message: expect.stringContaining('requests.0') as unknown,
    });
    expect(simulator.messageBatches.batches.size).toBe(0);
  });
});
