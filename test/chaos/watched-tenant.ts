import { expect } from '@jest/globals';
import { costSummary, usageSummary } from '@gatehouse/contract/usage';
import type { Usage } from '@gatehouse/test/provider-simulator/chat-answer';
import type { ChaosSystem } from './chaos-system.ts';
import { Follower } from './follower.ts';
import { GatewayClient, type Outcome } from './gateway-client.ts';

/** Prices of gpt-4.1-mini in deploy/local/models.yaml: pico-USD per token of input and output. */
const prices = { input: 400_000n, output: 1_600_000n };
const users = ['ann', 'bob', 'eve'];

interface RunRow {
  id: string;
  session_id: string;
  status: string;
  corrected: boolean;
  usage_estimated: boolean;
  input_tokens: number;
  output_tokens: number;
  cost_pico: string;
}

/** A tenant of which every stream is answered: a client follows its traces, and the provider's ledger is its own. */
export class WatchedTenant {
  readonly #chaos: ChaosSystem;
  readonly #id: string;
  readonly #key: string;
  readonly #client: GatewayClient;
  readonly #follower: Follower;
  #streams = 0;

  private constructor(chaos: ChaosSystem, { id, userKey }: { id: string; userKey: string }) {
    this.#chaos = chaos;
    this.#id = id;
    this.#key = userKey;
    this.#client = new GatewayClient(chaos.credentials.url, userKey);
    this.#follower = new Follower(chaos.credentials.url, userKey);
    this.#follower.start();
  }

  static async make(chaos: ChaosSystem): Promise<WatchedTenant> {
    return new WatchedTenant(chaos, await chaos.makeTenant());
  }

  async stop(): Promise<void> {
    await this.#follower.stop();
    this.#client.close();
  }

  /** Begins streams of 25 s and more. */
  stream(count: number): Promise<Outcome>[] {
    this.#streams += count;
    return Array.from({ length: count }, (_, index) =>
      this.#client.complete({
        stream: true,
        user: users[index % users.length] ?? '',
        provider: { chunks: 100, chunk_delay_ms: 250 + 2 * index },
      }),
    );
  }

  /** Waits until runs were ended as interrupted, and returns their ids. */
  async interrupted(): Promise<string[]> {
    const found = async (): Promise<RunRow[]> =>
      (await this.#runs()).filter(({ status }) => status === 'interrupted');
    await this.#chaos.within(20_000, 'its runs were ended as interrupted', async () => {
      return (await found()).length > 0;
    });
    return (await found()).map(({ id }) => id);
  }

  /**
   * Expects in traces, usage, costs and at followers what the provider counted, to the last digit; of the runs only
   * these were corrected.
   */
  async expectProvidersLedger(interrupted: readonly string[]): Promise<void> {
    const rows = await this.#runs();
    expect(rows.filter(({ status, usage_estimated: guess }) => status !== 'ok' || guess)).toEqual([]);
    expect(new Set(rows.filter(({ corrected }) => corrected).map(({ id }) => id))).toEqual(
      new Set(interrupted),
    );
    const ledger = new Map(
      this.#chaos.simulator.ledger().requests.map((row) => [row.id, row.usage as Usage]),
    );
    const charged = rows.map((row) => ({ row, usage: ledger.get(row.session_id) }));
    for (const { row, usage } of charged)
      expect(row).toMatchObject({
        input_tokens: usage?.prompt_tokens,
        output_tokens: usage?.completion_tokens,
      });
    const sum = (of: (usage: Usage) => number): number =>
      charged.reduce((total, { usage }) => total + (usage === undefined ? 0 : of(usage)), 0);
    const [input, output] = [sum((usage) => usage.prompt_tokens), sum((usage) => usage.completion_tokens)];
    const usage = usageSummary.parse(await this.#get('/v1/usage/summary?group_by=user,model'));
    expect(usage.totals).toMatchObject({
      ...{ requests: this.#streams, errors: 0, input_tokens: input, output_tokens: output },
      unique_users: users.length,
    });
    expect(usage.groups).toHaveLength(users.length);
    const costs = costSummary.parse(await this.#get('/v1/costs/summary'));
    const pico = BigInt(input) * prices.input + BigInt(output) * prices.output;
    expect(BigInt(costs.total_usd.replace('.', ''))).toBe(pico);
    expect(costs.estimated.requests).toBe(0);

    // Followers saw each of them once more, with its exact end.
    await this.#chaos.within(10_000, 'followers have the exact ends', async () =>
      rows.every(({ id }) => this.#follower.latest.get(id)?.status === 'ok'),
    );
    expect(this.#follower.complaints).toEqual([]);
    expect(this.#follower.corrected).toEqual(new Set(interrupted));
  }

  #runs(): Promise<RunRow[]> {
    return this.#chaos.rows<RunRow>(
      `select id, session_id, status, corrected, usage_estimated, input_tokens::float8 as input_tokens,
              output_tokens::float8 as output_tokens, cost_pico::text as cost_pico
       from analytics.traces where session_id is not null and tenant_id = $1`,
      [this.#id],
    );
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#chaos.credentials.url}${path}`, {
      headers: { authorization: `Bearer ${this.#key}` },
    });
    return response.json();
  }
}
