import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { JobsUnderTest } from '../test/harness.ts';
import { timing } from '../test/tasks.ts';

const script = path.join(import.meta.dirname, '../test/doomed-worker.ts');
let service: JobsUnderTest;
let child: ChildProcess | undefined;

beforeAll(async () => {
  service = await JobsUnderTest.start();
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await service.stopWorkers();
  await query(service.database.adminUrl, 'delete from memory_jobs.job');
  service.calls.splice(0);
});
afterAll(() => service.stop());

/** Starts a replica in a process of its own, and resolves when it runs the job. */
async function startDoomed(): Promise<ChildProcess> {
  child = spawn(process.execPath, [script], {
    env: { ...process.env, DATABASE_URL: service.database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error('no output');
  await service.add({ task: 'embed', ids: { documentId: 'a' } });
  await once(stdout, 'data');
  return child;
}

it('the job of a killed process runs elsewhere once its heartbeats are missing', async () => {
  const doomed = await startDoomed();
  await service.work();
  const exited = once(doomed, 'exit');
  doomed.kill('SIGKILL');
  await exited;
  const killed = performance.now();
  await eventually(() => expect(service.handled()).toEqual(['a']));
  const { lostAfterMs, heartbeatMs, pollMs } = timing;
  expect(performance.now() - killed).toBeLessThan(lostAfterMs + heartbeatMs + pollMs + 500);
  expect(service.calls[0]?.context.attempt).toBe(2);
  await eventually(async () => expect(await service.rows()).toEqual([]));
});

it('a running job is not taken, however long it runs', async () => {
  await startDoomed();
  await service.work();
  await sleep(timing.lostAfterMs * 2);
  expect(service.handled()).toEqual([]);
  expect(await service.rows()).toMatchObject([{ state: 'active', retry_count: 0 }]);
});
