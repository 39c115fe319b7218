import { beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { auditRuns, allArrived, auditSoFar, newRuns } from './audit.ts';
import type { ChaosSystem } from './chaos-system.ts';
import { unknownKey, type CompletionCall, type Outcome } from './gateway-client.ts';
import { keepKillingPostgres, signalPostgres } from './postgres-processes.ts';

/** How long an instance may be silent. */
const silentMs = 15_000;
const hangMs = silentMs + 3_000;
/** The edge waits 2 s for the tenant service; the machine is busy. */
const strangersWaitMs = 10_000;
/** Longer than the 3 s that metering gives a commit. */
const hangBeforeDeathMs = 4_000;
/** Shorter than the 10 s for which the end of a run is held. */
const refusalMs = 6_000;

/** Two services each give their look-ups 2 s, and metering gives a commit 3 s, twice if one is under way. */
const refusedWithinMs = 15_000;
/** Requests under way are held 10 s for their end, and half as much again on a busy machine. */
const answeredWithinMs = 25_000;

let chaos: ChaosSystem;

interface Trickle {
  known: Promise<Outcome>[];
  unknown: Promise<Outcome>[];
  /** Answered requests among the known. */
  answered: number;
  stop: () => void;
}

/** Sends two requests a second, with a valid key that no edge has cached and with unknown keys, until stopped. */
function askWithoutDatabase(newKey: string): { stop: () => Promise<Outcome[]> } {
  const asked: Promise<Outcome>[] = [];
  const ask = (key: string): void => void asked.push(chaos.client.complete({ key }));
  const timer = setInterval(() => {
    ask(newKey);
    ask(unknownKey());
  }, 500);
  return {
    stop: () => {
      clearInterval(timer);
      return Promise.all(asked);
    },
  };
}

/** Sends streams, unary requests and requests with unknown keys, ten a second. */
function startTrickle(): Trickle {
  const trickle: Trickle = { known: [], unknown: [], answered: 0, stop: () => clearInterval(timer) };
  const ask = async (call: CompletionCall): Promise<Outcome> => {
    const outcome = await chaos.client.complete(call);
    if (outcome.ending === 'answer') trickle.answered += 1;
    return outcome;
  };
  let tick = 0;
  const timer = setInterval(() => {
    tick += 1;
    const provider = { chunks: 5, chunk_delay_ms: 200, delay_ms: (tick % 5) * 100 };
    if (tick % 5 === 0) trickle.unknown.push(chaos.client.complete({ key: unknownKey(), provider }));
    else trickle.known.push(ask({ stream: tick % 2 === 0, provider }));
  }, 100);
  return trickle;
}

function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, ending, errorCode } of outcomes) {
    const name = `${status} ${ending} ${errorCode ?? ''}`.trim();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function slowest(outcomes: readonly Outcome[]): number {
  return Math.max(0, ...outcomes.map(({ ms }) => ms));
}

/** Every replica judges the others by then, as it does not in its first 15 s. */
async function untilAllJudge(): Promise<void> {
  await chaos.within(2 * silentMs, 'every replica judges the others', async () => {
    const [row] = await chaos.rows<{ youngest: number }>(
      'select extract(epoch from now() - max(started_at))::float8 * 1000 as youngest from chat.instances',
    );
    return row !== undefined && row.youngest > silentMs + 1_000;
  });
}

async function untilAnswered(trickle: Trickle): Promise<void> {
  await chaos.within(40_000, 'requests are answered again', async () => {
    return (await chaos.client.complete({ timeoutMs: 5_000 })).ending === 'answer';
  });
  const { answered } = trickle;
  await chaos.within(20_000, 'so are those of the trickle', async () => trickle.answered >= answered + 20);
}

/** Outcomes that no client may see, whatever the database does. */
function surprises(outcomes: readonly Outcome[], allowed: readonly number[]): Outcome[] {
  return outcomes.filter(
    ({ status, ending }) => !allowed.includes(status) || (ending !== 'answer' && ending !== 'error'),
  );
}

async function deadInstances(): Promise<object[]> {
  return chaos.rows('select id, heartbeat_at, dead_at from chat.instances where dead_at is not null');
}

/** Declares the tests of a system with two replicas of chat whose PostgreSQL hangs and is killed. */
export function hungPostgres(of: () => ChaosSystem): void {
  beforeAll(() => {
    chaos = of();
  });

  describe('PostgreSQL away, hanging for 18 s, then killed while it hangs and refusing', () => {
    it(
      'is a 503 for what is new, loses nothing that is under way, and passes by itself',
      () =>
        chaos.explain(async () => {
          await chaos.client.complete();
          const before = await auditSoFar(chaos);
          const deadBefore = await deadInstances();
          const { userKey: newKey } = await chaos.makeTenant();
          await untilAllJudge();
          const trickle = startTrickle();
          await chaos.within(20_000, 'the trickle is answered', async () => trickle.answered >= 20);

          await signalPostgres(chaos, 'SIGSTOP');
          const hungAt = performance.now();
          const strangers = askWithoutDatabase(newKey);
          await sleep(hangMs - strangersWaitMs);
          // They are answered before the database is back: by then one of them would be good, and the others known bad.
          const refusedStrangers = await strangers.stop();
          await sleep(Math.max(0, hangMs - (performance.now() - hungAt)));
          await signalPostgres(chaos, 'SIGCONT');
          await untilAnswered(trickle);

          // PostgreSQL is killed while it hangs: its clients never learn whether their last statements were committed.
          await signalPostgres(chaos, 'SIGSTOP');
          await sleep(hangBeforeDeathMs);
          await signalPostgres(chaos, 'SIGKILL');
          await keepKillingPostgres(chaos, refusalMs);
          await untilAnswered(trickle);
          trickle.stop();

          const known = await Promise.all(trickle.known);
          const unknown = await Promise.all(trickle.unknown);
          chaos.mark('outcomes', {
            known: tally(known),
            unknown: tally(unknown),
            strangersWhileItHung: tally(refusedStrangers),
          });
          expect(refusedStrangers.filter(({ ms }) => ms > strangersWaitMs)).toEqual([]);
          expect(surprises(refusedStrangers, [503])).toEqual([]);
          expect(surprises(known, [200, 503])).toEqual([]);
          expect(known.filter(({ status, ending }) => status === 200 && ending !== 'answer')).toEqual([]);
          const refused = known.filter(({ status }) => status === 503);
          expect(refused.length).toBeGreaterThan(0);
          expect(slowest(refused)).toBeLessThan(refusedWithinMs);
          expect(slowest(unknown)).toBeLessThan(refusedWithinMs);
          expect(slowest(known)).toBeLessThan(answeredWithinMs);

          await chaos.within(45_000, 'every run has its end', () => allArrived(chaos));
          const audit = await auditRuns(chaos);
          chaos.mark('audit', audit);
          expect(audit.complaints).toEqual([]);
          expect(newRuns(audit, before)['interrupted']).toBeUndefined();
          expect(await deadInstances()).toEqual(deadBefore);
          expect(surprises(unknown, [401, 503])).toEqual([]);
        }),
      170_000,
    );
  });
}
