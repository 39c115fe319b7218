import { settledWithin } from '@gatehouse/kit/clock';
import { Gauge, type Registry } from '@gatehouse/kit/metrics';

/** Whether something the service needs is available. A rejection counts as false. */
export type ReadyCheck = () => Promise<boolean> | boolean;

/** The names of failed checks. Runs all at once, even if one fails, because a check makes the connection of a peer. */
export async function missingOf(checks: Readonly<Record<string, ReadyCheck>>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const there = await Promise.resolve()
        .then(check)
        .catch(() => false);
      return there ? [] : [name];
    }),
  );
  return answers.flat();
}

/** A check of a hanging database takes longer, and is shown next time: a process shows many checks at once. */
const patienceMs = 100;

/** Shows the checks of a service in its metrics, also checks with no influence on the readiness of its process. */
export function observeReadiness(registry: Registry, checks: Readonly<Record<string, ReadyCheck>>): void {
  let missing: readonly string[] | undefined;
  let pending: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    missing = await missingOf(checks);
    pending = undefined;
  };
  new Gauge({
    name: 'gatehouse_ready',
    help: 'Whether something that the service needs is available: its database, a peer',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      pending ??= look();
      await settledWithin(pending, patienceMs);
      if (missing === undefined) return;
      for (const check of Object.keys(checks)) this.set({ check }, missing.includes(check) ? 0 : 1);
    },
  });
}
