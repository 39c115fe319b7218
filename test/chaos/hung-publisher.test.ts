import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/usage';
import { sleep } from '@gatehouse/kit/clock';
import { valueOf } from '@gatehouse/test/exposition';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';

const replicas = ['chat-1', 'chat-2'];
/** Between two requests of a client. */
const paceMs = 200;
/** Its session ends after 20 s, and the other replica looks for free partitions every 2 s. */
const takenOverWithinMs = 40_000;

let chaos: ChaosSystem;
beforeAll(async () => {
  chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'chat=2' });
});
afterAll(async () => chaos.stop(), 60_000);

/** Up to when the demo tenant's usage is complete, and how many requests it has. */
async function usage(): Promise<{ asOf: number; requests: number }> {
  const response = await fetch(`${chaos.credentials.url}/v1/usage/summary`, {
    headers: { authorization: `Bearer ${chaos.credentials.user_key}` },
  });
  const { as_of: asOf, totals } = usageSummary.parse(await response.json());
  return { asOf: Date.parse(asOf), requests: totals.requests };
}

async function metricOf(name: string, metric: string): Promise<number> {
  const { ports } = chaos.local.processOf(name);
  const response = await fetch(`http://127.0.0.1:${ports['admin'] ?? 0}/metrics`);
  return valueOf(await response.text(), metric, { outbox: 'outbox' }) ?? NaN;
}

/** The replica that publishes the demo tenant's events. */
async function publisher(): Promise<string | undefined> {
  for (const name of replicas)
    if ((await metricOf(name, 'gatehouse_events_published_total')) > 0) return name;
  return undefined;
}

/** Requests go to both replicas; the one that hangs answers none. */
async function askUntil(state: { over: boolean }): Promise<number> {
  let answers = 0;
  while (!state.over) {
    const { ending } = await chaos.client.complete({ timeoutMs: 2_000 });
    if (ending === 'answer') answers += 1;
    await sleep(paceMs);
  }
  return answers;
}

describe('a replica of chat that publishes events and hangs', () => {
  it(
    'loses that to another one, and no run is lost or counted twice when it goes on',
    () =>
      chaos.explain(async () => {
        expect((await chaos.client.complete()).ending).toBe('answer');
        await chaos.within(10_000, 'the run is published', async () => (await publisher()) !== undefined);
        const hung = (await publisher()) ?? '';
        const other = replicas.find((name) => name !== hung) ?? '';
        chaos.local.signal(hung, 'SIGSTOP');
        const hungAt = Date.now();
        chaos.mark(`${hung} hangs`);
        const state = { over: false };
        const asking = Promise.all([1, 2, 3].map(() => askUntil(state)));
        await chaos.within(15_000, 'the other replica shows that events wait', async () => {
          return (await metricOf(other, 'gatehouse_outbox_age_seconds')) > 3;
        });
        const { requests } = await usage();
        await chaos.within(takenOverWithinMs, 'usage goes on', async () => {
          const now = await usage();
          return now.asOf > hungAt + 10_000 && now.requests > requests;
        });
        state.over = true;
        expect((await asking).reduce((sum, answers) => sum + answers)).toBeGreaterThan(0);
        chaos.local.signal(hung, 'SIGCONT');
        await chaos.within(40_000, 'every run has its end', () => allArrived(chaos));
        expect((await auditRuns(chaos)).complaints).toEqual([]);
      }),
    90_000,
  );
});
