import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditRuns, allArrived } from './audit.ts';
import { ChaosSystem } from './chaos-system.ts';
import type { Outcome } from './gateway-client.ts';

/** The edge asks replicas every second and gives each 1.5 s twice; the machine is busy. */
const noticedMs = 12_000;
/** Reaping is due within 30 s; two busy cores get half as much again. */
const reapedWithinMs = 45_000;
/** Requests, two a second, that are made after the edge has noticed, and before the paused replica goes on. */
const laterRequests = 20;

let chaos: ChaosSystem;
beforeAll(async () => {
  chaos = await ChaosSystem.start({ GATEHOUSE_REPLICAS: 'chat=2' });
});
afterAll(async () => chaos.stop(), 60_000);

interface Instance {
  id: string;
  dead: boolean;
}

async function instances(): Promise<Instance[]> {
  return chaos.rows('select id, dead_at is not null as dead from chat.instances order by started_at, id');
}

describe('a chat replica that is paused until another has ended its runs', () => {
  it(
    'finds its runs ended by the other, corrects each of them once, and serves on under a new name',
    () =>
      chaos.explain(async () => {
        const inHand = Array.from({ length: 60 }, (_, index) =>
          chaos.client.complete({
            stream: index % 3 !== 0,
            provider: index % 3 === 0 ? { delay_ms: 6_000 } : { chunks: 100, chunk_delay_ms: 60 + index },
          }),
        );
        await chaos.within(20_000, 'the provider has 60 requests', async () => {
          return chaos.simulator.requests.length >= 60;
        });
        await chaos.within(10_000, 'its streams have begun', async () => {
          return chaos.simulator.requests.filter(({ chunks_sent: sent }) => sent > 5).length >= 40;
        });
        const before = await instances();
        chaos.local.signal('chat-2', 'SIGSTOP');
        const pausedAt = performance.now();
        chaos.mark('chat-2 is paused');
        const meanwhile: { at: number; outcome: Promise<Outcome> }[] = [];
        const impatient: Promise<Outcome>[] = [];
        const timer = setInterval(() => {
          const at = Math.round(performance.now() - pausedAt);
          meanwhile.push({ at, outcome: chaos.client.complete({ timeoutMs: 90_000 }) });
          // Not with each of them: taking turns would send one kind to one replica and the other kind to the other.
          if (meanwhile.length % 3 !== 0)
            impatient.push(chaos.client.complete({ stream: true, timeoutMs: 5_000 }));
        }, 500);

        const deadMs = await chaos.within(reapedWithinMs, 'it is declared dead', async () => {
          return (await instances()).some(({ dead }) => dead);
        });
        const [dead] = (await instances()).filter((instance) => instance.dead);
        await chaos.within(reapedWithinMs - deadMs, 'its runs have their ends', async () => {
          const [left] = await chaos.rows<{ count: number }>(
            'select count(*)::int as count from chat.open_runs where instance_id = $1',
            [dead?.id],
          );
          return left?.count === 0;
        });
        await chaos.within(reapedWithinMs, 'enough requests came after the edge has noticed', async () => {
          return meanwhile.filter(({ at }) => at > noticedMs).length > laterRequests;
        });
        chaos.local.signal('chat-2', 'SIGCONT');
        chaos.mark('chat-2 goes on');
        await chaos.within(10_000, 'it registers anew', async () => (await instances()).length === 3);
        clearInterval(timer);
        const [newcomer] = (await instances()).filter(({ id }) => before.every((known) => known.id !== id));
        await chaos.within(10_000, 'it serves again', async () => {
          // Each is under way for many looks.
          inHand.push(chaos.client.complete({ provider: { delay_ms: 1_000 } }));
          const served = await chaos.rows('select from chat.open_runs where instance_id = $1', [
            newcomer?.id,
          ]);
          return served.length > 0;
        });
        const outcomes = await Promise.all(inHand);
        const asked = await Promise.all(
          meanwhile.map(async ({ at, outcome }) => ({ at, ...(await outcome) })),
        );
        // No client is cut off without an error. Most answers of the paused replica arrive late, but they arrive.
        expect(
          [...outcomes, ...asked].filter(({ ending }) => ending !== 'answer' && ending !== 'error'),
        ).toEqual([]);
        // Those who wait less hear from the living replica, or nothing at all.
        const short = await Promise.all(impatient);
        expect(short.filter(({ ending }) => ending !== 'answer' && ending !== 'timeout')).toEqual([]);
        const unheard = short.filter(({ ending }) => ending === 'timeout').length;
        // From when the edge has noticed on, every request has gone to the replica that lives.
        const later = asked.filter(({ at }) => at > noticedMs);
        expect(later.length).toBeGreaterThan(laterRequests);
        expect(later.filter(({ ending, ms }) => ending !== 'answer' || ms > 5_000)).toEqual([]);

        await chaos.within(45_000, 'every run has its end', () => allArrived(chaos));
        const audit = await auditRuns(chaos);
        const hung = asked.filter(({ ms }) => ms > 5_000).map(({ at, ms, status }) => ({ at, ms, status }));
        chaos.mark('audit', { hung, unheard, audit });
        expect(audit.complaints).toEqual([]);
        const corrected = await chaos.rows('select from analytics.traces where corrected');
        expect(corrected.length).toBeGreaterThan(10);
        const names = await instances();
        expect(names.map(({ dead: isDead }) => isDead).sort()).toEqual([false, false, true]);
      }),
    170_000,
  );
});
