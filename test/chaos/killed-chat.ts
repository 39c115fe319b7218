import { describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import { auditRuns, allArrived, auditSoFar, newRuns } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';
import type { Outcome } from './gateway-client.ts';

const streams = 200;
/** Between two requests of a client that makes one after the other. */
const paceMs = 100;
/** Reaping is due within 30 s; two busy cores get half as much again. */
const reapedWithinMs = 45_000;

/** Some end before the kill, most in its middle however long all take to begin, and some have not begun to answer. */
const fates = [
  { chunks: 20, chunk_delay_ms: 50 },
  { chunks: 150, chunk_delay_ms: 400 },
  { chunks: 120, chunk_delay_ms: 500 },
  { chunks: 150, chunk_delay_ms: 400 },
  { chunks: 150, chunk_delay_ms: 400, delay_ms: 60_000 },
];

/** Sends unary requests one after the other until `state.over`. */
async function keepAsking(
  { client }: ChaosSystem,
  state: { over: boolean },
  delayMs: number,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (!state.over) {
    outcomes.push(await client.complete({ provider: { delay_ms: delayMs } }));
    await sleep(paceMs);
  }
  return outcomes;
}

/** Declares the tests of a system whose only replica of chat is killed. */
export function killedChat(of: () => ChaosSystem): void {
  describe('kill -9 of chat during 200 concurrent streams', () => {
    it('leaves every request of the provider in exactly one ended run, and every client with a clean error', () => {
      const chaos = of();
      return chaos.explain(async () => {
        const before = await auditSoFar(chaos);
        const { length: earlier } = chaos.simulator.requests;
        const model = `agent:${chaos.credentials.agent_key}`;
        const state = { over: false };
        const streaming = Array.from({ length: streams }, (_, index) =>
          chaos.client.complete({
            stream: true,
            ...(index % 4 === 0 ? { model } : {}),
            provider: fates[index % fates.length] ?? {},
          }),
        );
        const asking = [0, 30, 150, 700].map((delayMs) => keepAsking(chaos, state, delayMs));
        const begun = (): SimulatorRequest[] =>
          chaos.simulator.requests.slice(earlier).filter(({ body }) => isStream(body));
        await chaos.within(30_000, 'all streams have reached the provider', async () => {
          return begun().length >= streams;
        });
        await chaos.within(30_000, 'some have ended, and the long ones are in their middle', async () => {
          const [ended, inMiddle] = [
            begun().filter(({ finished_at: at }) => at !== null),
            begun().filter(({ finished_at: at, chunks_sent: sent }) => at === null && sent > 5),
          ];
          return ended.length >= streams / 10 && inMiddle.length >= streams / 2;
        });
        chaos.local.signal('chat-1', 'SIGKILL');
        chaos.mark('chat was killed');
        await chaos.local.waitForOutput(/chat-1 runs again/, 30_000);
        chaos.mark('chat runs again');
        await chaos.within(30_000, 'it answers', async () => {
          return (await chaos.client.complete()).ending === 'answer';
        });
        state.over = true;

        const outcomes = await Promise.all(streaming);
        const unary = (await Promise.all(asking)).flat();
        expect(outcomes.filter(({ ending }) => ending !== 'answer' && ending !== 'error')).toEqual([]);
        expect(unary.filter(({ ending }) => ending !== 'answer' && ending !== 'error')).toEqual([]);
        const codes = new Set([...outcomes, ...unary].map(({ errorCode }) => errorCode));
        expect([...codes].filter((code) => code !== null).sort()).toEqual([
          'bad_gateway',
          'service_unavailable',
        ]);
        const cut = outcomes.filter(({ ending, status }) => ending === 'error' && status === 200);
        expect(cut.length).toBeGreaterThan(streams / 4);
        expect((await chaos.client.complete({ stream: true })).ending).toBe('answer');

        await chaos.within(reapedWithinMs, 'every run has its end', () => allArrived(chaos));
        const audit = await auditRuns(chaos);
        chaos.mark('audit', audit);
        expect(audit.complaints).toEqual([]);
        expect(newRuns(audit, before)['interrupted']).toBeGreaterThanOrEqual(cut.length);
      });
    }, 150_000);
  });
}

function isStream(body: unknown): boolean {
  return (body as { stream?: boolean } | null)?.stream === true;
}
