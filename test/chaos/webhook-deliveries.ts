import { expect } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { Receiver } from '@gatehouse/test/receiver';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { signed } from '@gatehouse/test/webhook-senders';
import type { ChaosSystem } from './chaos-system.ts';
import type { Random } from '@gatehouse/test/random';

const deliveries = Number(process.env['CHAOS_DELIVERIES'] ?? 150);
const senders = 12;
/** So that the load lasts for several kills. */
const paceMs = 1_200;
/** A delivery under way in a process that dies is sent again half a minute later. */
const deliveredWithinMs = 180_000;

const textOf = (number: number): string => `delivery ${String(number).padStart(4, '0')} of chaos`;

/** Senders of an endpoint: half of their deliveries come twice, all out of order, each until it is accepted. */
export class WebhookDeliveries {
  readonly #chaos: ChaosSystem;
  readonly #tenant: TenantAccess;
  readonly #receiver: Receiver;
  readonly #endpoint: { id: string; secret: string };
  readonly #each = Array.from({ length: deliveries }, (_, number) => number);
  /** Ids of the calls of each delivery. */
  readonly #calls = new Map<number, Set<string>>();

  private constructor(
    chaos: ChaosSystem,
    parts: { tenant: TenantAccess; receiver: Receiver; endpoint: { id: string; secret: string } },
  ) {
    this.#chaos = chaos;
    this.#tenant = parts.tenant;
    this.#receiver = parts.receiver;
    this.#endpoint = parts.endpoint;
  }

  static async prepare(chaos: ChaosSystem): Promise<WebhookDeliveries> {
    const receiver = await Receiver.start();
    const tenant = await chaos.makeTenant();
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
    const endpoint = await post('/v1/webhooks/endpoints', {
      ...{ name: 'Alerts', agent_id: agent.id, mode: 'async', callback_url },
    });
    return new WebhookDeliveries(chaos, { tenant, receiver, endpoint });
  }

  stop(): Promise<void> {
    return this.#receiver.stop();
  }

  /** Resolves when all deliveries are accepted. */
  async send(random: Random): Promise<void> {
    const repeats = this.#each.filter(() => random.next() < 0.5);
    const numbers = random.shuffle([...this.#each, ...repeats]);
    await Promise.all(Array.from({ length: senders }, () => this.#sendAll(numbers)));
    this.#chaos.mark('all deliveries are accepted');
  }

  /** Expects one completed run of each delivery, and one result that is delivered. */
  async expectResults(): Promise<void> {
    expect(this.#calls.size).toBe(deliveries);
    expect([...this.#calls].filter(([, ids]) => ids.size !== 1)).toEqual([]);

    const { received } = this.#receiver;
    const ids = new Set([...this.#calls.values()].flatMap((some) => [...some]));
    const arrived = () => new Set(received.map(({ headers }) => headers['webhook-id']));
    await this.#chaos.within(
      deliveredWithinMs,
      'every result has arrived',
      async () => arrived().size === deliveries,
    );
    expect(arrived()).toEqual(ids);
    const bodies = Map.groupBy(received, ({ headers }) => headers['webhook-id']);
    for (const some of bodies.values()) expect(new Set(some.map(({ body }) => body)).size).toBe(1);
    const types = new Set(received.map(({ body }) => (JSON.parse(body) as { type: string }).type));
    expect(types).toEqual(new Set(['call.completed']));
  }

  async expectRuns(): Promise<void> {
    const runs = await this.#chaos.rows<{ input: string; completed: number }>(
      `select input_preview as input, count(*) filter (where status = 'ok')::integer as completed
       from analytics.traces where tenant_id = $1 and channel = 'webhook' group by input_preview`,
      [this.#tenant.id],
    );
    expect(runs.filter(({ completed }) => completed !== 1)).toEqual([]);
    expect(new Set(runs.map(({ input }) => input))).toEqual(new Set(this.#each.map(textOf)));
  }

  /** One request as a sender makes it; returns the id of the call, or null if it is to be repeated. */
  async #deliver(number: number): Promise<string | null> {
    const [id, body] = [`msg_${number}`, `{"input":"${textOf(number)}"}`];
    const { id: endpointId, secret } = this.#endpoint;
    const response = await fetch(`${this.#chaos.credentials.url}/v1/webhooks/llm?endpoint=${endpointId}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signed({ scheme: 'standard', secret }, body, { id }),
      },
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

  /** Sends deliveries one after the other, each until it is accepted. */
  async #sendAll(numbers: number[]): Promise<void> {
    for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
      let callId = await this.#deliver(number);
      for (; callId === null; callId = await this.#deliver(number)) await sleep(200);
      this.#calls.set(number, (this.#calls.get(number) ?? new Set()).add(callId));
      await sleep(paceMs);
    }
  }
}
