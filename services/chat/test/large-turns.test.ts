import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { LargeWork } from '../src/wire/large-work.ts';
import { linesOf, sdkFor, uploaded } from './batch-client.ts';
import { ChatHarness, makeAgent } from './chat-harness.ts';
import { anthropicFor, messageRequests, withClaude } from './message-batch-client.ts';

/** Everything that reads a large request has its turn, one at a time in a process: clients, batches and other services. */

let harness: ChatHarness;
let anthropic: ProviderSimulator;
beforeAll(async () => {
  anthropic = await startProviderSimulator({ apiKey: 'provider-key' });
  harness = await ChatHarness.start({}, withClaude(anthropic));
  harness.agents.set('extractor', makeAgent({ key: 'extractor', model: 'priced' }));
});
afterEach(() => harness.simulator.reset());
afterAll(async () => {
  await harness.stop();
  await anthropic.close();
});

const small = 'small';
const large = 'x'.repeat(2 * 1024 * 1024);

async function complete(content: string): Promise<unknown> {
  const memory = await harness.peer('memory');
  const requestJson = JSON.stringify({ messages: [{ role: 'user', content }] });
  return memory.call(
    'complete',
    { agent: 'extractor', callId: newId(), requestJson },
    {
      deadlineMs: 60_000,
      assertion: await harness.identity.assertion(makePrincipal({ userId: 'ada' })),
    },
  );
}

it.each<[string, (content: string) => Promise<unknown>]>([
  ['a completion for another service', complete],
  [
    'a line of a file',
    (content) =>
      uploaded(
        sdkFor(harness, { tenantId: newId() }),
        linesOf([{ id: 'a', body: { messages: [{ role: 'user', content }] } }]),
      ),
  ],
  [
    'a request of a batch of messages',
    (content) =>
      anthropicFor(harness, { tenantId: newId() }).messages.batches.create({
        requests: messageRequests(['a'], { messages: [{ role: 'user', content }] }),
      }),
  ],
])('%s waits for its turn if it is large', async (_name, ask) => {
  const turn = new LargeWork('another tenant');
  await turn.begin(large.length);
  const order: string[] = [];
  const asked = ask(large).then(() => order.push('large'));
  try {
    await eventually(() => expect(LargeWork.waiting).toBe(1));
    await ask(small).then(() => order.push(small));
  } finally {
    turn.end();
  }
  await asked;
  expect(order).toEqual([small, 'large']);
});

it('a completion for another service counts like the body of a client, with the text that is made of it', async () => {
  const turn = new LargeWork('another tenant');
  await turn.begin(large.length);
  const asked = complete(large);
  try {
    await eventually(() => expect(LargeWork.waiting).toBe(1));
    const [, bytes] = /^gatehouse_body_bytes\S* (\S+)/m.exec(await harness.metrics()) ?? [];
    expect(Number(bytes)).toBeGreaterThan(2 * large.length);
  } finally {
    turn.end();
  }
  await asked;
});
