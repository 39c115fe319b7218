import { expect } from '@jest/globals';
import { eventually } from './eventually.ts';
import type { ServiceUnderTest } from './service-under-test.ts';

const clients = 4;
const rounds = 10;

/** The statuses that clients get while the service's connections to its database are ended again and again. */
export async function statusesWhileConnectionsEnd(
  started: ServiceUnderTest<{ close(): void }, unknown>,
  name: string,
  ask: (client: number) => Promise<number>,
): Promise<Set<number>> {
  const statuses: number[] = [];
  const state = { over: false };
  const asking = Array.from({ length: clients }, async (_, client) => {
    while (!state.over) statuses.push(await ask(client));
  });
  for (let round = 0; round < rounds; round += 1) {
    await started.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name like $1 and datname = current_database()`,
      [`gatehouse ${name}%`],
    );
    const { length } = statuses;
    await eventually(() => expect(statuses.length).toBeGreaterThanOrEqual(length + clients));
  }
  state.over = true;
  await Promise.all(asking);
  return new Set(statuses);
}
