import { afterEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { earlyInMinute } from '@gatehouse/test/minute';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';
import { killSome } from './killing.ts';
import { flood } from './limited-system.ts';
import { Random } from '@gatehouse/test/random';

/** All services in one process, or in each of three: what holds for separate processes holds for them. */

const streams = 200;
const kills = 3;
/** A client waits this long after a refused connection. */
const refusedPaceMs = 200;
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 1_000_000);

let chaos: ChaosSystem;
const opened: GatewayClient[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) client.close();
  await chaos.stop();
});

/** A client of each process for a tenant's key. */
function clientsOf(key: string, processes: number): GatewayClient[] {
  const { protocol, hostname, port } = new URL(chaos.credentials.url);
  return Array.from({ length: processes }, (_, index) => {
    const client = new GatewayClient(`${protocol}//${hostname}:${Number(port) + index}`, key);
    opened.push(client);
    return client;
  });
}

describe(`kill -9 of the one process during ${streams} streams (LEDGER_SEED=${seed})`, () => {
  const random = new Random(seed);
  const kinds: (() => CompletionCall)[] = [
    () => ({ stream: true, provider: { chunks: random.between(5, 100), chunk_delay_ms: 40 } }),
    () => ({ stream: true, provider: { chunks: 200, chunk_delay_ms: 50 } }),
    () => ({ stream: true, provider: { chunks: 20, cut: 'mid_stream' } }),
    () => ({ stream: true, provider: { chunks: 200, chunk_delay_ms: 20 }, timeoutMs: 2_000 }),
    () => ({ provider: { delay_ms: random.between(0, 3_000) } }),
  ];

  async function keepAsking(state: { over: boolean }, client: GatewayClient): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    while (!state.over) {
      const outcome = await client.complete(random.pick(kinds)());
      outcomes.push(outcome);
      if (outcome.status === 0 || outcome.status >= 500) await sleep(refusedPaceMs);
    }
    return outcomes;
  }

  it('leaves every request of the provider in exactly one ended run, counted once', async () => {
    chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'all=1' });
    await chaos.explain(async () => {
      const { client } = chaos;
      const state = { over: false };
      const asking = Array.from({ length: streams }, () => keepAsking(state, client));
      const killed = await killSome(chaos, { random, state, kills, names: ['gatehouse-1'] });
      await chaos.within(30_000, 'it answers', async () => (await client.complete()).ending === 'answer');
      state.over = true;
      const outcomes = (await Promise.all(asking)).flat();
      const cut = outcomes.filter(({ ending, status }) => ending !== 'answer' && status === 200);
      chaos.mark('all requests are done', { killed, requests: outcomes.length, cut: cut.length });
      // How many depends on the machine.
      expect(cut.length).toBeGreaterThan(streams / 10);

      await chaos.within(90_000, 'every run has its end and has arrived', () => allArrived(chaos));
      const audit = await auditRuns(chaos);
      chaos.mark('audit', { ...audit, complaints: audit.complaints.length });
      expect(audit.complaints).toEqual([]);
      // Three kills end some streams each; how many depends on the machine.
      expect(audit.byStatus['interrupted']).toBeGreaterThan(streams / 10);
    });
  }, 300_000);
});

describe('a limit over three processes that run all services', () => {
  it('lets exactly 60 of 300 requests through in a minute, also when one dies in it', async () => {
    chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'all=3' });
    await chaos.explain(async () => {
      const { userKey } = await chaos.makeTenant({ limits: { requests_per_minute: 60 } });
      const clients = clientsOf(userKey, 3);
      const floodAll = async (count: number, of: readonly GatewayClient[]): Promise<Outcome[]> =>
        (await Promise.all(of.map((client) => flood(client, {}, count)))).flat();
      await earlyInMinute(15);
      const outcomes = await floodAll(100, clients);
      const passed = outcomes.filter(({ status }) => status === 200);
      expect(passed).toHaveLength(60);
      expect(new Set(outcomes.map(({ errorCode }) => errorCode))).toEqual(
        new Set([null, 'rate_limit_exceeded']),
      );
      expect(chaos.simulator.requests).toHaveLength(60);
      chaos.local.signal('gatehouse-2', 'SIGKILL');
      const more = await floodAll(60, clients.toSpliced(1, 1));
      expect(more.filter(({ status }) => status === 200)).toEqual([]);
      expect(chaos.simulator.requests).toHaveLength(60);
    });
  });
});
