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
    await killOne(chaos, random.pick(names));
    killed += 1;
  }
  return killed;
}

/** Kills a process, and waits until it runs again. */
export async function killOne(chaos: ChaosSystem, name: string): Promise<void> {
  const pid = chaos.local.signal(name, 'SIGKILL');
  await chaos.within(60_000, `${name} was killed and runs again`, async () => {
    const now = chaos.local.processOf(name).pid;
    return now !== null && now !== pid;
  });
}
