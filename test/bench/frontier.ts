import { openLoop, type Target } from './load.ts';
import { figure, print } from './table.ts';

/** The longest p99 that users of an installation may want, in milliseconds. */
const bounds = [5, 10, 50];
const slowestRate = 50;
const growth = 1.25;
/** Rates one after the other that miss all bounds: one may be a stall of the machine. */
const mostMisses = 2;

/**
 * Prints for each target the most requests per second whose p99 stays within each bound. Rates grow by a quarter, targets
 * take turns at each, and one is out once two rates in a row have missed all bounds.
 */
export async function frontier(targets: readonly Target[], seconds: number): Promise<void> {
  const most = new Map(targets.map((target) => [target, bounds.map(() => 0)]));
  const misses = new Map(targets.map((target) => [target, 0]));
  const isIn = (target: Target): boolean => (misses.get(target) ?? 0) < mostMisses;
  for (let rate = slowestRate; targets.some(isIn); rate = Math.round(rate * growth))
    for (const target of targets.filter(isIn)) {
      const { p99 } = await openLoop(target, rate, seconds);
      const reached = most.get(target) ?? [];
      for (const [index, bound] of bounds.entries()) if (p99 <= bound) reached[index] = rate;
      const missesAll = bounds.every((bound) => p99 > bound);
      misses.set(target, missesAll ? (misses.get(target) ?? 0) + 1 : 0);
    }
  print([
    ['requests/s at a p99 of at most', ...targets.map(({ name }) => name)],
    ...bounds.map((bound, index) => [
      `${bound} ms`,
      ...targets.map((target) => figure(most.get(target)?.[index] ?? 0, 0)),
    ]),
  ]);
}
