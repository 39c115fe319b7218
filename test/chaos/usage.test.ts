import { afterEach, describe, expect, it } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/usage';
import { sleep } from '@gatehouse/kit/clock';
import { withoutKafka } from '@gatehouse/test/kafka';
import type { Instructions } from '@gatehouse/test/provider-simulator/faults';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';
import { GatewayClient, type CompletionCall, type Outcome } from './gateway-client.ts';

const pauseMs = 10_000;
const requests = 600;
const clients = 16;
const caughtUpMs = 30_000;
const maxChatMiB = 500;
/** The longest that a tenant may keep of a prompt and of an answer. */
const longest = { previews: { enabled: true, max_chars: 10_000 } };

let chaos: ChaosSystem | undefined;
const closing: GatewayClient[] = [];
afterEach(async () => {
  for (const client of closing.splice(0)) client.close();
  await chaos?.stop();
  chaos = undefined;
}, 60_000);

async function start(settings: Record<string, string>): Promise<ChaosSystem> {
  chaos = await ChaosSystem.start(settings);
  return chaos;
}

interface Tenant {
  key: string;
  client: GatewayClient;
}

async function makeTenant(system: ChaosSystem, settings: object): Promise<Tenant> {
  const { userKey: key } = await system.makeTenant({ ...settings });
  const client = new GatewayClient(system.credentials.url, key);
  closing.push(client);
  return { key, client };
}

/** Makes the calls, a few at a time. */
async function complete(client: GatewayClient, calls: CompletionCall[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...calls];
  const work = async (): Promise<void> => {
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift())
      outcomes.push(await client.complete(call));
  };
  await Promise.all(Array.from({ length: clients }, work));
  return outcomes;
}

async function usageOf(system: ChaosSystem, { key }: Tenant): Promise<{ requests: number; asOf: number }> {
  const response = await fetch(`${system.credentials.url}/v1/usage/summary`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const summary = usageSummary.parse(await response.json());
  return { requests: summary.totals.requests, asOf: Date.parse(summary.as_of) };
}

/** Makes many requests of one tenant, and a few of another, while a process is paused; every run must be counted. */
async function pauseUnderLoad(system: ChaosSystem, victim: string, call: CompletionCall): Promise<void> {
  const busy = await makeTenant(system, longest);
  const quiet = await makeTenant(system, {});
  expect((await busy.client.complete(call)).ending).toBe('answer');
  await system.local.signal(victim, 'SIGSTOP');
  const paused = sleep(pauseMs);
  system.mark(`${victim} is paused`);
  const outcomes = await complete(busy.client, Array<CompletionCall>(requests - 1).fill(call));
  expect(outcomes.filter(({ ending }) => ending !== 'answer')).toEqual([]);
  expect((await quiet.client.complete()).ending).toBe('answer');
  await paused;
  await system.local.signal(victim, 'SIGCONT');
  const resumedAt = Date.now();
  system.mark(`${victim} goes on`);
  await system.within(
    caughtUpMs,
    'every run is counted',
    async () => (await usageOf(system, busy)).requests === requests,
  );
  await system.within(caughtUpMs, 'every tenant is counted up to now', async () => {
    const all = await Promise.all([busy, quiet].map((tenant) => usageOf(system, tenant)));
    return all.every(({ asOf }) => asOf > resumedAt);
  });
  expect((await usageOf(system, quiet)).requests).toBe(1);
  await expectNothingLost(system);
}

async function expectNothingLost(system: ChaosSystem): Promise<void> {
  await system.within(caughtUpMs, 'every run has its end', () => allArrived(system));
  const audit = await auditRuns(system);
  system.mark('audit', audit);
  expect(audit.complaints).toEqual([]);
  const letters = await system.rows(
    'select reason from analytics.dead_letters union all select reason from chat.outbox_dead_letters',
  );
  expect(letters).toEqual([]);
}

const noKafka = await withoutKafka();
const itWithKafka = noKafka === undefined ? it : it.skip;

describe('a short outage of what takes usage in', () => {
  itWithKafka(
    `loses no run and delays no tenant after it: Kafka paused${noKafka === undefined ? '' : ` (skipped: ${noKafka})`}`,
    async () => {
      const system = await start({ KAFKA: '1' });
      const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(20) }];
      await system.explain(() => pauseUnderLoad(system, 'kafka', { fields: { messages } }));
    },
    120_000,
  );

  it('loses no run and delays no tenant after it: analytics paused, with the longest previews', async () => {
    const system = await start({});
    const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(400) }];
    const provider = { content: 'All of it is counted. '.repeat(600) };
    await system.explain(() => pauseUnderLoad(system, 'analytics-1', { fields: { messages }, provider }));
  }, 120_000);
});

describe('a provider that answers with the largest of everything', () => {
  const unprintable = '\u0001'.repeat(12_000);
  const endless = {
    prompt_tokens: 1e12,
    completion_tokens: 1e12,
    cached_tokens: 1e12,
    reasoning_tokens: 1e12,
  };
  const answers: { stream: boolean; provider: Omit<Instructions, 'id'> }[] = [
    { stream: true, provider: { error_event_after_chunks: 1, chunks: 2, huge_error_bytes: 3_000_000 } },
    { stream: true, provider: { huge_chunk_bytes: 9_000_000 } },
    { stream: true, provider: { huge_model_bytes: 1_200_000, chunks: 2 } },
    { stream: false, provider: { huge_model_bytes: 1_200_000 } },
    { stream: false, provider: { huge_chunk_bytes: 9_000_000 } },
    { stream: false, provider: { content: unprintable, usage: endless } },
    { stream: false, provider: { status: 400, huge_error_bytes: 1_000_000 } },
    { stream: false, provider: { status: 400, huge_error_bytes: 20_000 } },
    { stream: false, provider: { status: 500, huge_error_bytes: 1_000_000 } },
  ];

  it('leaves every run counted, other tenants alone, and chat below 500 MB', async () => {
    const system = await start({});
    await system.explain(async () => {
      const tenant = await makeTenant(system, longest);
      const quiet = await makeTenant(system, {});
      const messages = [{ role: 'user', content: unprintable }];
      const calls = answers.flatMap((answer) =>
        Array<CompletionCall>(5).fill({ ...answer, fields: { messages } }),
      );
      const outcomes = await complete(tenant.client, calls);
      expect(outcomes.filter(({ ending }) => ending !== 'answer' && ending !== 'error')).toEqual([]);
      expect((await quiet.client.complete()).ending).toBe('answer');
      const peak = await system.peakMemory('chat-1');
      await expectNothingLost(system);
      const counted = await usageOf(system, tenant);
      const ran = new Set(system.simulator.requests.map(({ id }) => id));
      expect(counted.requests).toBe(outcomes.filter(({ id }) => ran.has(id)).length);
      expect(counted.requests).toBeGreaterThan(calls.length / 2);
      expect((await usageOf(system, quiet)).requests).toBe(1);
      expect(peak).toBeLessThan(maxChatMiB);
    });
  }, 120_000);
});
