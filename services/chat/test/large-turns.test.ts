import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { lockWaits } from '@gatehouse/test/lock-waits';
import { eventually } from '@gatehouse/test/eventually';
import { Client } from 'pg';
import { makePrincipal } from '@gatehouse/test/identity';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { LargeWork } from '../src/shared/large-work.ts';
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

describe('a large request leaves its turn to others', () => {
  const principal = { tenantId: newId(), userId: 'ada' };
  const post = (path: string, dialect: string, body: object): Promise<Response> =>
    harness.post(path, body, { principal, headers: { 'x-gatehouse-dialect': dialect } });
  const messages = [{ role: 'user', content: large }];
  const model = 'agent:extractor';

  /** Another tenant's request has its turn while this one waits. */
  async function othersTurn(): Promise<void> {
    await LargeWork.during({ tenantId: 'another tenant', bytes: large.length }, () => Promise.resolve());
  }

  const isAnswered = async (asked: Promise<Response>): Promise<boolean> => (await asked).status === 200;
  it.each<[string, () => Promise<boolean>]>([
    ['for a client', () => isAnswered(post('/v1/chat/completions', 'chat', { model, messages }))],
    [
      'for a count',
      () => isAnswered(post('/v1/responses/input_tokens', 'responses', { model, input: messages })),
    ],
    ['for another service', () => complete(large).then(() => true)],
  ])('while it waits for the agent service, which answers behind them: %s', async (_name, ask) => {
    const answer = Promise.withResolvers<null>();
    harness.agentsAnswer = answer.promise;
    try {
      const before = harness.agentLookUps;
      const asked = ask();
      await eventually(() => expect(harness.agentLookUps).toBeGreaterThan(before));
      void othersTurn().then(() => answer.resolve(null));
      expect(await asked).toBe(true);
    } finally {
      answer.resolve(null);
    }
  });

  it.each([
    ['that it goes on from', (id: string) => ({ previous_response_id: id, input: large })],
    [
      'that has an item',
      (_id: string, item: string) => ({
        input: [
          { role: 'user', content: large },
          { type: 'item_reference', id: item },
        ],
      }),
    ],
  ])('while it waits for the database to find a response %s', async (_name, fields) => {
    const first = await post('/v1/responses', 'responses', { model: 'priced', input: 'x' });
    const { id, output } = (await first.json()) as { id: string; output: { id: string }[] };
    const blocker = new Client({ connectionString: harness.database.adminUrl });
    await blocker.connect();
    try {
      await blocker.query('begin; lock table chat.responses in access exclusive mode');
      const asked = post('/v1/responses', 'responses', {
        ...{ model: 'priced', store: false },
        ...fields(id, output[0]?.id ?? ''),
      });
      await eventually(async () => {
        const { rows } = await blocker.query(
          `select from ${lockWaits} where relation = 'chat.responses'::regclass`,
        );
        expect(rows).toHaveLength(1);
      });
      await othersTurn();
      await blocker.query('rollback');
      expect((await asked).status).toBe(200);
    } finally {
      await blocker.end();
    }
  });
});
