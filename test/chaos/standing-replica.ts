import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usageSummary } from '@gatehouse/contract/usage';
import { partitionCount } from '@gatehouse/events/partitions';
import { sleep } from '@gatehouse/kit/clock';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { valueOf } from '@gatehouse/test/exposition';
import { auditRuns, allArrived, auditSoFar } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';
import type { Outcome } from './gateway-client.ts';
import { WatchedTenant } from './watched-tenant.ts';

const replicas = ['chat-1', 'chat-2'];
const stallMs = 20_000;
/** Streams of the watched tenant, which outlast the stall or come to their ends in it. */
const streams = 40;
/** The edge asks replicas every second and gives each 1.5 s twice; the machine is busy. */
const noticedMs = 12_000;
/** Reaping is due within 30 s; two busy cores get half as much again. */
const reapedWithinMs = 45_000;
/** Requests, two a second, that are made after the edge has noticed, and before the replica goes on. */
const laterRequests = 20;
/** Between two requests of a client that asks all the time. */
const paceMs = 200;
/** Its session ends after 20 s, and the other replica looks for free partitions every 2 s. */
const takenOverWithinMs = 40_000;

let chaos: ChaosSystem;
let watched: WatchedTenant;

interface Instance {
  id: string;
  dead: boolean;
}

async function instances(): Promise<Instance[]> {
  return chaos.rows('select id, dead_at is not null as dead from chat.instances order by started_at, id');
}

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

/** The replica whose relay publishes the outbox, and says up to when everything is published. */
async function publisher(): Promise<string> {
  let found: string | undefined;
  await chaos.within(10_000, 'one replica has all partitions', async () => {
    const partitions = await Promise.all(
      replicas.map((name) => metricOf(name, 'gatehouse_outbox_partitions')),
    );
    found = replicas.find((_, index) => partitions[index] === partitionCount);
    return found !== undefined;
  });
  return found ?? '';
}

/** Requests go to both replicas; the one that stands still answers none. */
async function askUntil(state: { over: boolean }): Promise<number> {
  let answers = 0;
  while (!state.over) {
    const { ending } = await chaos.client.complete({ timeoutMs: 2_000 });
    if (ending === 'answer') answers += 1;
    await sleep(paceMs);
  }
  return answers;
}

/** Requests of the demo tenant that are made while a replica stands still. */
class Meanwhile {
  /** By patient clients, with the time since the stall began. */
  readonly asked: { at: number; outcome: Promise<Outcome> }[] = [];
  readonly impatient: Promise<Outcome>[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    const startedAt = performance.now();
    this.#timer = setInterval(() => {
      const at = Math.round(performance.now() - startedAt);
      this.asked.push({ at, outcome: chaos.client.complete({ timeoutMs: 90_000 }) });
      // Not with each of them: taking turns would send one kind to one replica and the other kind to the other.
      if (this.asked.length % 3 !== 0)
        this.impatient.push(chaos.client.complete({ stream: true, timeoutMs: 5_000 }));
    }, 500);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Another replica takes the runs of the one that stands still, and ends them. */
async function untilReaped(meanwhile: Meanwhile, deadBefore: readonly string[]): Promise<void> {
  const newlyDead = async (): Promise<Instance[]> =>
    (await instances()).filter(({ id, dead }) => dead && !deadBefore.includes(id));
  const deadMs = await chaos.within(
    reapedWithinMs,
    'it is declared dead',
    async () => (await newlyDead()).length > 0,
  );
  const [dead] = await newlyDead();
  await chaos.within(reapedWithinMs - deadMs, 'its runs have their ends', async () => {
    const [left] = await chaos.rows<{ count: number }>(
      'select count(*)::int as count from chat.runs_under_way where instance_id = $1',
      [dead?.id],
    );
    return left?.count === 0;
  });
  await chaos.within(reapedWithinMs, 'enough requests came after the edge has noticed', async () => {
    return meanwhile.asked.filter(({ at }) => at > noticedMs).length > laterRequests;
  });
}

/** Another replica takes the events of the one that stands still, and publishes them. */
async function untilTakenOver(stoppedAt: number): Promise<void> {
  const { requests } = await usage();
  await chaos.within(takenOverWithinMs, 'usage goes on', async () => {
    const now = await usage();
    return now.asOf > stoppedAt + 10_000 && now.requests > requests;
  });
}

/** The replica serves on, under a new name. */
async function untilServing(before: readonly Instance[], inHand: Promise<Outcome>[]): Promise<void> {
  await chaos.within(10_000, 'it registers anew', async () => {
    return (await instances()).length === before.length + 1;
  });
  const [newcomer] = (await instances()).filter(({ id }) => before.every((known) => known.id !== id));
  await chaos.within(10_000, 'it serves again', async () => {
    // Each is under way for many looks.
    inHand.push(chaos.client.complete({ provider: { delay_ms: 1_000 } }));
    const served = await chaos.rows('select from chat.runs_under_way where instance_id = $1', [newcomer?.id]);
    return served.length > 0;
  });
}

/** No client is cut off without an error, and the replica that lives serves all that the edge can send it. */
async function expectOutcomes(meanwhile: Meanwhile, inHand: readonly Promise<Outcome>[]): Promise<void> {
  const outcomes = await Promise.all(inHand);
  const asked = await Promise.all(
    meanwhile.asked.map(async ({ at, outcome }) => ({ at, ...(await outcome) })),
  );
  // Most answers of the replica that stood still arrive late, but they arrive.
  expect([...outcomes, ...asked].filter(({ ending }) => ending !== 'answer' && ending !== 'error')).toEqual(
    [],
  );
  // Those who wait less hear from the living replica, or nothing at all.
  const short = await Promise.all(meanwhile.impatient);
  expect(short.filter(({ ending }) => ending !== 'answer' && ending !== 'timeout')).toEqual([]);
  const unheard = short.filter(({ ending }) => ending === 'timeout').length;
  // From when the edge has noticed on, every request has gone to the replica that lives.
  const later = asked.filter(({ at }) => at > noticedMs);
  expect(later.length).toBeGreaterThan(laterRequests);
  expect(later.filter(({ ending, ms }) => ending !== 'answer' || ms > 5_000)).toEqual([]);
  const hung = asked.filter(({ ms }) => ms > 5_000).map(({ at, ms, status }) => ({ at, ms, status }));
  chaos.mark('outcomes', { hung, unheard });
}

/** Declares the tests of a system with two replicas of chat, one of which stands still. */
export function standingReplica(of: () => ChaosSystem): void {
  beforeAll(async () => {
    chaos = of();
    watched = await WatchedTenant.make(chaos);
  });
  afterAll(() => watched.stop());

  describe(`a replica of chat that stands still for over ${stallMs / 1_000} s while it streams and publishes`, () => {
    it(
      'finds its runs ended and its events published by another, corrects each of them once, and serves on',
      () =>
        chaos.explain(async () => {
          await auditSoFar(chaos);
          const hung = await publisher();
          const { length: earlier } = chaos.simulator.requests;
          const begun = (): SimulatorRequest[] => chaos.simulator.requests.slice(earlier);
          const asked = watched.stream(streams);
          const inHand = Array.from({ length: 60 }, (_, index) =>
            chaos.client.complete({
              stream: index % 3 !== 0,
              provider:
                index % 3 === 0 ? { delay_ms: 6_000 } : { chunks: 25, chunk_delay_ms: 240 + 4 * index },
            }),
          );
          await chaos.within(20_000, 'the provider has all requests', async () => {
            return begun().length >= streams + 60;
          });
          await chaos.within(20_000, 'the streams have begun', async () => {
            return begun().filter(({ chunks_sent: sent }) => sent > 5).length >= streams + 40;
          });
          const before = await instances();
          const deadBefore = before.filter(({ dead }) => dead).map(({ id }) => id);
          chaos.local.signal(hung, 'SIGSTOP');
          const stoppedAt = Date.now();
          chaos.mark(`${hung} stands still`);
          const meanwhile = new Meanwhile();
          const state = { over: false };
          const asking = Promise.all([1, 2, 3].map(() => askUntil(state)));
          await Promise.all([sleep(stallMs), untilReaped(meanwhile, deadBefore), untilTakenOver(stoppedAt)]);
          const interrupted = await watched.interrupted();
          state.over = true;
          expect((await asking).reduce((sum, answers) => sum + answers)).toBeGreaterThan(0);
          chaos.local.signal(hung, 'SIGCONT');
          chaos.mark(`${hung} goes on`, { interrupted: interrupted.length });
          await untilServing(before, inHand);
          meanwhile.stop();
          await expectOutcomes(meanwhile, inHand);
          const outcomes = await Promise.all(asked);
          expect(outcomes.map(({ ending }) => ending)).toEqual(outcomes.map(() => 'answer'));
          expect(interrupted.length).toBeGreaterThan(streams / 5);

          await chaos.within(60_000, 'every run has its end', () => allArrived(chaos));
          const audit = await auditRuns(chaos);
          chaos.mark('audit', audit);
          expect(audit.complaints).toEqual([]);
          const corrected = await chaos.rows(
            'select from analytics.traces where corrected and tenant_id = $1',
            [chaos.credentials.tenant_id],
          );
          // How many depends on the machine.
          expect(corrected.length).toBeGreaterThan(0);
          const names = (await instances()).filter(({ id }) => !deadBefore.includes(id));
          expect(names.map(({ dead }) => dead).sort()).toEqual([false, false, true]);
          await watched.expectProvidersLedger(interrupted);
        }),
      170_000,
    );
  });
}
