import { createLogger } from '@gatehouse/kit/log';
import { Registry } from '@gatehouse/kit/metrics';
import { createPool } from '@gatehouse/pg/pool';
import { JobWorker } from '../src/job-worker.ts';
import { Jobs } from '../src/jobs.ts';
import { tasks, timing } from './tasks.ts';

/** A replica as a process of its own: prints the id of a job that it runs, and never finishes it. */
const log = createLogger('test', 'silent');
const system = createPool({ url: process.env.DATABASE_URL ?? '', role: 'memory_system', max: 2, log });
const hang = (id: string): Promise<void> => {
  process.stdout.write(`${id}\n`);
  return new Promise(() => undefined);
};
await new JobWorker({
  jobs: new Jobs({ service: 'memory', tasks, system, log }),
  handlers: { embed: ({ documentId }) => hang(documentId), reply: ({ messageId }) => hang(messageId) },
  log,
  registry: new Registry(),
  drainTimeoutMs: 1_000,
  timing: process.env.DEFAULT_TIMING === undefined ? timing : {},
}).start();
