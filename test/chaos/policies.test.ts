import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { Random } from '@gatehouse/test/random';
import { allArrived } from './audit.ts';
import type { Outcome } from './gateway-client.ts';
import { killOne } from './killing.ts';
import { LimitedSystem, mostAtOnce } from './limited-system.ts';
import { NestedPolicies, type Caller } from './nested-policies.ts';
import { signalPostgres } from './postgres-processes.ts';

/** The whole test goes on until each fault came three times, each time at another moment. */
const isFull = process.env['HOSTILE'] === 'full';
const rounds = isFull ? 3 : 1;
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
const clients = 48;
const stallMs = 3_000;
/** Less than after which a replica counts as dead. */
const outageMs = 4_000;
const lookEveryMs = 150;

/** Answers for clients; a killed replica resets the connections of its own. */
const allowed = new Set(['200 answer', '429 error', '503 error', '0 broken', '502 error']);

interface Made {
  caller: Caller;
  outcome: Outcome;
}

let system: LimitedSystem;
beforeAll(async () => {
  system = await LimitedSystem.start();
});
afterAll(() => system.stop(), 60_000);

describe('eight policies that nest, with three replicas of chat whose wall clocks are wrong', () => {
  it(
    `hold to the last slot and pico-USD while processes are killed and stalled, and count what runs cost (CHAOS_SEED=${seed})`,
    () =>
      system.chaos.explain(async () => {
        const { chaos } = system;
        const random = new Random(seed);
        const tenant = await NestedPolicies.make(chaos);
        await system.untilAllReplicasAnswer();
        const client = system.client();
        const state = { over: false };
        const made: Made[] = [];
        const asking = Array.from({ length: clients }, async () => {
          while (!state.over) {
            const caller = tenant.caller(random);
            const outcome = await client.complete({
              ...tenant.call(caller),
              fields: { max_tokens: 100 },
              provider: {
                delay_ms: random.between(20, 400),
                // Nearly all of the reservation: a request more than the budget holds would pass it.
                usage: { prompt_tokens: random.between(300, 400), completion_tokens: 100 },
              },
            });
            made.push({ caller, outcome });
            if (outcome.status !== 200) await sleep(random.between(20, 200));
          }
        });
        const exceeded: string[] = [];
        const looking = (async () => {
          while (!state.over) {
            // The database may be away.
            exceeded.push(...(await tenant.exceeded().catch(() => [])));
            await sleep(lookEveryMs);
          }
        })();
        await chaos.within(20_000, 'limits are reached', async () => decided(made) > 100);
        for (let round = 0; round < rounds; round += 1)
          for (const fault of random.shuffle(faults())) {
            await fault();
            const before = decided(made);
            await chaos.within(20_000, 'limits are checked again', async () => decided(made) > before + 10);
          }
        state.over = true;
        await Promise.all([...asking, looking]);
        chaos.mark('all requests are done', tally(made));
        chaos.mark('refused by', [...refusedBy(made)]);

        expect(Object.keys(tally(made)).filter((name) => !allowed.has(name))).toEqual([]);
        expect(exceeded).toEqual([]);
        expect(refusedBy(made).size).toBeGreaterThanOrEqual(2);
        const atProvider = new Map(
          system.served(made.map(({ outcome }) => outcome)).map((each) => [each.id, each]),
        );
        for (const { name, most, valueOf } of tenant.slots) {
          const byValue = Map.groupBy(made, ({ caller }) => valueOf(caller));
          for (const [value, own] of byValue) {
            if (value === null) continue;
            const served = own.flatMap(({ outcome }) => atProvider.get(outcome.id) ?? []);
            expect(`${name} ${value}: ${Math.max(most, mostAtOnce(served))}`).toBe(
              `${name} ${value}: ${most}`,
            );
          }
        }
        await chaos.within(60_000, 'no run is open', () => allArrived(chaos));
        let miscounted: string[] = [];
        await chaos
          .within(40_000, 'each budget has counted what its runs cost', async () => {
            miscounted = await tenant.miscounted();
            return miscounted.length === 0;
          })
          .catch(() => undefined);
        expect(miscounted).toEqual([]);
        expect(await tenant.exceeded()).toEqual([]);
      }),
    isFull ? 400_000 : 200_000,
  );
});

function faults(): (() => Promise<void>)[] {
  const { chaos } = system;
  return [
    () => killOne(chaos, 'chat-2'),
    () => killOne(chaos, 'tenant-1'),
    async () => {
      chaos.local.signal('tenant-1', 'SIGSTOP');
      chaos.mark('the tenant service stalls');
      await sleep(stallMs);
      chaos.local.signal('tenant-1', 'SIGCONT');
    },
    async () => {
      await signalPostgres(chaos, 'SIGSTOP');
      await sleep(outageMs);
      await signalPostgres(chaos, 'SIGCONT');
    },
  ];
}

/** Requests admitted, or refused by a limit. */
function decided(made: readonly Made[]): number {
  return made.filter(({ outcome: { status } }) => status === 200 || status === 429).length;
}

/** The refusing policies. */
function refusedBy(made: readonly Made[]): Set<string> {
  return new Set(
    made.flatMap(({ outcome: { status, detail } }) =>
      status === 429 ? (/"policy:(?:owner:)?([a-z]+)"/.exec(detail)?.[1] ?? []) : [],
    ),
  );
}

function tally(made: readonly Made[]): Record<string, number> {
  const groups = Map.groupBy(made, ({ outcome: { status, ending } }) => `${status} ${ending}`);
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.length]));
}
