import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import { ChaosSystem } from './chaos-system.ts';
import { killSome } from './killing.ts';
import { Random } from './random.ts';

const deliveries = Number(process.env['CHAOS_DELIVERIES'] ?? 700);
const senders = 12;
/** So that the load lasts for several kills. */
const paceMs = 250;
const kills = 6;
/** A delivery under way in a process that dies is sent again half a minute later. */
const deliveredWithinMs = 180_000;

let chaos: ChaosSystem;
let receiver: Receiver;
let tenant: TenantAccess;
let endpoint: { id: string; secret: string };

beforeAll(async () => {
  receiver = await Receiver.start();
  chaos = await ChaosSystem.start({
    GATEHOUSE_REPLICAS: 'webhook=2,chat=2',
    EGRESS_ALLOW: '127.0.0.1',
    LOG_LEVEL: 'error',
  });
  tenant = await chaos.makeTenant();
  const post = async (path: string, body: object): Promise<{ id: string; secret: string }> => {
    const response = await fetch(`${chaos.credentials.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
    return (await response.json()) as { id: string; secret: string };
  };
  const agent = await post('/v1/agents', { key: 'on-call', model: 'gpt-4.1-mini' });
  const callback_url = receiver.url('/results');
  endpoint = await post('/v1/webhooks/endpoints', {
    ...{ name: 'Alerts', agent_id: agent.id, mode: 'async', callback_url },
  });
});
afterAll(async () => {
  await chaos.stop();
  await receiver.stop();
});

const textOf = (number: number): string => `delivery ${String(number).padStart(4, '0')} of chaos`;

/** One request as a sender makes it; returns the id of the call, or null if it is to be repeated. */
async function deliver(number: number): Promise<string | null> {
  const [id, body] = [`msg_${number}`, `{"input":"${textOf(number)}"}`];
  const { secret } = endpoint;
  const response = await fetch(`${chaos.credentials.url}/v1/webhooks/llm?endpoint=${endpoint.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signed({ scheme: 'standard', secret }, body, { id }) },
    body,
  }).catch(() => null);
  if (response === null) return null;
  const text = await response.text();
  if (response.status !== 202) {
    expect([502, 503, 504, 409]).toContain(response.status);
    return null;
  }
  return (JSON.parse(text) as { call_id: string }).call_id;
}

/** Sends deliveries one after the other, each until it is accepted; notes the ids of their calls. */
async function sendAll(numbers: number[], calls: Map<number, Set<string>>): Promise<void> {
  for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
    let callId = await deliver(number);
    for (; callId === null; callId = await deliver(number)) await sleep(200);
    calls.set(number, (calls.get(number) ?? new Set()).add(callId));
    await sleep(paceMs);
  }
}

describe('kill -9 of webhook and chat, two replicas each, during deliveries with repeats out of order', () => {
  it(
    'leaves one completed run of each, and every result is delivered',
    () =>
      chaos.explain(async () => {
        const random = new Random(17);
        const each = Array.from({ length: deliveries }, (_, number) => number);
        const repeats = each.filter(() => random.next() < 0.5);
        const numbers = random.shuffle([...each, ...repeats]);
        const calls = new Map<number, Set<string>>();
        const state = { over: false };
        const names = ['webhook-1', 'webhook-2', 'chat-1', 'chat-2'];
        const killing = killSome(chaos, { random, state, kills, names });
        await Promise.all(Array.from({ length: senders }, () => sendAll(numbers, calls)));
        chaos.mark('all deliveries are accepted');
        state.over = true;
        expect(await killing).toBeGreaterThanOrEqual(3);
        expect(calls.size).toBe(deliveries);
        expect([...calls].filter(([, ids]) => ids.size !== 1)).toEqual([]);

        const ids = new Set([...calls.values()].flatMap((some) => [...some]));
        const arrived = () => new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
        await chaos.within(
          deliveredWithinMs,
          'every result has arrived',
          async () => arrived().size === deliveries,
        );
        expect(arrived()).toEqual(ids);
        const bodies = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id']);
        for (const received of bodies.values())
          expect(new Set(received.map(({ body }) => body)).size).toBe(1);
        const types = new Set(
          receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type),
        );
        expect(types).toEqual(new Set(['call.completed']));

        await chaos.within(60_000, 'every run has its end', async () => {
          const open = await chaos.rows('select 1 from chat.open_runs');
          const unpublished = await chaos.rows('select 1 from chat.outbox');
          return open.length + unpublished.length === 0;
        });
        const runs = await chaos.rows<{ input: string; completed: number }>(
          `select input_preview as input, count(*) filter (where status = 'ok')::integer as completed
           from analytics.traces where tenant_id = $1 and channel = 'webhook' group by input_preview`,
          [tenant.id],
        );
        expect(runs.filter(({ completed }) => completed !== 1)).toEqual([]);
        expect(new Set(runs.map(({ input }) => input))).toEqual(new Set(each.map(textOf)));
      }),
    600_000,
  );
});
