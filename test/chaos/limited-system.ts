import path from 'node:path';
import { expectSuccess, GatewayClient as ApiClient } from '@gatehouse/local/gateway-client';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { ChaosSystem, fewConnections } from './chaos-system.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';

/** The wall clocks of the processes differ by up to 90 s: each is off by a multiple of 45 s that follows its id. */
const skew = path.join(import.meta.dirname, '../support/skewed-clock.ts');
const replicas = 3;

interface LimitState {
  resource: string;
  used: number | string;
  remaining: number | string;
}

export interface LimitedTenant {
  id: string;
  key: string;
  client: GatewayClient;
}

/** Three replicas of chat whose wall clocks are wrong, and tenants with limits. */
export class LimitedSystem {
  readonly chaos: ChaosSystem;
  readonly #opened: GatewayClient[] = [];

  private constructor(chaos: ChaosSystem) {
    this.chaos = chaos;
  }

  static async start(): Promise<LimitedSystem> {
    return new LimitedSystem(
      await ChaosSystem.start({
        ...fewConnections,
        GATEHOUSE_REPLICAS: `chat=${replicas}`,
        NODE_OPTIONS: `--import=${skew}`,
      }),
    );
  }

  async stop(): Promise<void> {
    for (const client of this.#opened) client.close();
    await this.chaos.stop();
  }

  async makeTenant(settings: Record<string, unknown>): Promise<LimitedTenant> {
    const { id, userKey: key } = await this.chaos.makeTenant(settings);
    const client = new GatewayClient(this.chaos.credentials.url, key);
    this.#opened.push(client);
    return { id, key, client };
  }

  /** A client whose calls have keys of their own. */
  client(): GatewayClient {
    const client = new GatewayClient(this.chaos.credentials.url, '');
    this.#opened.push(client);
    return client;
  }

  async limitOf(key: string, resource: string): Promise<LimitState> {
    const answer = await new ApiClient(this.chaos.credentials.url).call(key, 'GET', '/v1/limits');
    const { limits } = expectSuccess(answer, 'reading limits') as { limits: LimitState[] };
    const found = limits.find((limit) => limit.resource === resource);
    if (found === undefined) throw new Error(`no limit of ${resource}: ${JSON.stringify(limits)}`);
    return found;
  }

  /** Those of the requests that reached the provider. */
  served(outcomes: readonly Outcome[]): SimulatorRequest[] {
    const ids = new Set(outcomes.map(({ id }) => id));
    return this.chaos.simulator.requests.filter(({ id }) => id !== null && ids.has(id));
  }

  /** Requests that have a connection to the provider. */
  openAtProvider(): number {
    return this.chaos.simulator.requests.filter(
      ({ finished_at, client_closed_at }) => finished_at === null && client_closed_at === null,
    ).length;
  }

  async untilAllReplicasAnswer(): Promise<void> {
    await this.chaos.within(20_000, 'three replicas answer', async () => {
      const [row] = await this.chaos.rows<{ count: number }>(
        `select count(*)::int as count from chat.instances
         where dead_at is null and heartbeat_at > now() - interval '6 seconds'`,
      );
      return row?.count === replicas;
    });
  }

  /** Kills a replica, and returns once the supervisor has seen its end. */
  async kill(name: string): Promise<void> {
    const killed = this.chaos.local.signal(name, 'SIGKILL');
    await this.chaos.within(10_000, `${name} is gone`, async () => {
      return this.chaos.local.processOf(name).pid !== killed;
    });
  }
}

/** Many clients at once. */
export function flood(client: GatewayClient, call: CompletionCall, count: number): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: count }, () => client.complete(call)));
}

/** The most requests at the provider at any time. */
export function mostAtOnce(requests: readonly SimulatorRequest[]): number {
  const steps = requests.flatMap(({ at, finished_at, client_closed_at }) => [
    { at, by: 1 },
    { at: finished_at ?? client_closed_at ?? Infinity, by: -1 },
  ]);
  let now = 0;
  // An end before a start of the same millisecond.
  return Math.max(0, ...steps.sort((a, b) => a.at - b.at || a.by - b.by).map(({ by }) => (now += by)));
}
