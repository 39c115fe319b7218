import { sleep } from '@gatehouse/kit/clock';
import type { ChaosSystem } from './chaos-system.ts';
import type { Random } from '@gatehouse/test/random';

/** Kills one process after another, each when the last one runs again; returns how many. */
export async function killSome(
  chaos: ChaosSystem,
  {
    random,
    state,
    kills,
    names,
  }: {
    random: Random;
    /** The test sets `over` when there is nothing more to disturb. */
    state: { over: boolean };
    kills: number;
    names: readonly string[];
  },
): Promise<number> {
  let killed = 0;
  while (!state.over && killed < kills) {
    await sleep(random.between(1_500, 3_000));
    const name = random.pick(names);
    const { pid } = chaos.local.processOf(name);
    chaos.local.signal(name, 'SIGKILL');
    killed += 1;
    await chaos.within(30_000, `${name} was killed and runs again`, async () => {
      const now = chaos.local.processOf(name).pid;
      return now !== null && now !== pid;
    });
  }
  return killed;
}
