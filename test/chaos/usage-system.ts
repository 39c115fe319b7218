import { expect } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/usage';
import { sleep } from '@gatehouse/kit/clock';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem, fewConnections } from './chaos-system.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';

const pauseMs = 10_000;
const requests = 300;
const clients = 16;
const caughtUpMs = 30_000;

/** The longest that a tenant may keep of a prompt and of an answer. */
export const longestPreviews = { previews: { enabled: true, max_chars: 10_000 } };

export interface UsageTenant {
  key: string;
  client: GatewayClient;
}

/** A whole system whose tenants' usage is compared with the requests that they made. */
export class UsageSystem {
  readonly chaos: ChaosSystem;
  readonly #opened: GatewayClient[] = [];

  private constructor(chaos: ChaosSystem) {
    this.chaos = chaos;
  }

  static async start(settings: Record<string, string> = {}): Promise<UsageSystem> {
    return new UsageSystem(await ChaosSystem.start({ ...fewConnections, ...settings }));
  }

  async stop(): Promise<void> {
    for (const client of this.#opened) client.close();
    await this.chaos.stop();
  }

  async makeTenant(settings: object = {}): Promise<UsageTenant> {
    const { userKey: key } = await this.chaos.makeTenant({ ...settings });
    const client = new GatewayClient(this.chaos.credentials.url, key);
    this.#opened.push(client);
    return { key, client };
  }

  async usageOf({ key }: UsageTenant): Promise<{ requests: number; asOf: number }> {
    const response = await fetch(`${this.chaos.credentials.url}/v1/usage/summary`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const summary = usageSummary.parse(await response.json());
    return { requests: summary.totals.requests, asOf: Date.parse(summary.as_of) };
  }

  async expectNothingLost(): Promise<void> {
    await this.chaos.within(caughtUpMs, 'every run has its end', () => allArrived(this.chaos));
    const audit = await auditRuns(this.chaos);
    this.chaos.mark('audit', audit);
    expect(audit.complaints).toEqual([]);
    const letters = await this.chaos.rows(
      'select reason from analytics.dead_letters union all select reason from chat.outbox_dead_letters',
    );
    expect(letters).toEqual([]);
  }

  /** Makes many requests of one tenant, and a few of another, while a process is paused; every run must be counted. */
  async expectNothingLostWhilePaused(victim: string, call: CompletionCall): Promise<void> {
    const busy = await this.makeTenant(longestPreviews);
    const quiet = await this.makeTenant();
    expect((await busy.client.complete(call)).ending).toBe('answer');
    const resumedAt = await this.#whilePaused(victim, async () => {
      const outcomes = await completeAll(busy.client, Array<CompletionCall>(requests - 1).fill(call));
      expect(outcomes.filter(({ ending }) => ending !== 'answer')).toEqual([]);
      expect((await quiet.client.complete()).ending).toBe('answer');
    });
    await this.chaos.within(
      caughtUpMs,
      'every run is counted',
      async () => (await this.usageOf(busy)).requests === requests,
    );
    await this.chaos.within(caughtUpMs, 'every tenant is counted up to now', async () => {
      const all = await Promise.all([busy, quiet].map((tenant) => this.usageOf(tenant)));
      return all.every(({ asOf }) => asOf > resumedAt);
    });
    expect((await this.usageOf(quiet)).requests).toBe(1);
    await this.expectNothingLost();
  }

  async #whilePaused(victim: string, work: () => Promise<void>): Promise<number> {
    this.chaos.local.signal(victim, 'SIGSTOP');
    const paused = sleep(pauseMs);
    this.chaos.mark(`${victim} is paused`);
    await work();
    await paused;
    this.chaos.local.signal(victim, 'SIGCONT');
    this.chaos.mark(`${victim} goes on`);
    return Date.now();
  }
}

/** Makes the calls, a few at a time. */
export async function completeAll(client: GatewayClient, calls: CompletionCall[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...calls];
  const work = async (): Promise<void> => {
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift())
      outcomes.push(await client.complete(call));
  };
  await Promise.all(Array.from({ length: clients }, work));
  return outcomes;
}
