import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { createPool, type Pool } from '@gatehouse/pg/pool';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { eventually } from '@gatehouse/test/eventually';
import { query } from '@gatehouse/test/query';
import { JobsUnderTest } from '../test/harness.ts';
import { tasks, timing } from '../test/tasks.ts';

let service: JobsUnderTest;
let proxy: DatabaseProxy;
let system: Pool;

beforeAll(async () => {
  service = await JobsUnderTest.start();
  proxy = new DatabaseProxy(service.database.url);
  await proxy.open();
  const log = createLogger('test', 'silent');
  system = createPool({ url: proxy.url, role: 'memory_system', max: 2, log });
});
afterAll(async () => {
  await service.stopWorkers();
  await system.end();
  await proxy.cut();
  await service.stop();
});

it('a job that ends while the database is away runs once, and is not taken for lost when it is back', async () => {
  await proxy.cut();
  const starting = service.work({ handle: () => end.promise }, service.makeJobs(tasks, system));
  const end = Promise.withResolvers<undefined>();
  // The start waits for the database.
  await sleep(100);
  await proxy.open();
  const { registry } = await starting;
  await service.add({ task: 'embed', ids: { documentId: 'a' } });
  await eventually(() => expect(service.handled()).toEqual(['a']));
  await proxy.cut();
  await sleep(timing.lostAfterMs + 500);
  const [{ late } = { late: false }] = await query<{ late: boolean }>(
    service.database.adminUrl,
    `select heartbeat_on < now() - interval '${timing.lostAfterMs} ms' as late from memory_jobs.job`,
  );
  expect(late).toBe(true);
  end.resolve(undefined);
  await sleep(100);
  await proxy.open();
  await eventually(async () => expect(await service.rows()).toEqual([]));
  expect(service.handled()).toEqual(['a']);
  expect(await registry.metrics()).toContain('gatehouse_jobs_done_total{task="embed"} 1');
  await service.add({ task: 'embed', ids: { documentId: 'b' } });
  await eventually(() => expect(service.handled()).toEqual(['a', 'b']));
});
