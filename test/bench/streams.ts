import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { isGateway } from './alone.ts';
import { Children } from './children.ts';
import { openContest, type Contest } from './contest.ts';
import { percentile } from './database.ts';
import { makeFolder } from './folder.ts';
import { closedLoop, pacedStreams, type Target } from './load.ts';
import { cpuMs } from './processes.ts';
import { figure, print } from './table.ts';

/**
 * `make bench`: paced streams at once through one process that shares a core with PostgreSQL, and through the pass-through
 * on the same core: how late their frames are, and what a frame costs. A frame is late if it comes more than a frame's
 * pause after its time. BENCH_STREAMS (256,512,1024) sets how many.
 */

const counts = (process.env['BENCH_STREAMS'] ?? '256,512,1024').split(',').map(Number);
const chunks = 200;
const chunkDelayMs = 100;
const warmUpSeconds = 20;

async function measure({ passThrough, gateways, processes }: Contest): Promise<void> {
  const times = ['first frame p50, ms', 'p99', 'others late p99, ms', 'worst'];
  const table = [['streams', 'through', ...times, 'late frames', 'broken', 'CPU µs a frame']];
  const targets: [Target, number][] = [
    [passThrough, processes.find(({ name }) => name === 'pass-through')?.pid ?? 0],
    ...gateways.map(({ target, processes: own }): [Target, number] => [
      target,
      own.find(({ name }) => isGateway(name))?.pid ?? 0,
    ]),
  ];
  for (const [target] of targets) {
    await closedLoop(target, 64, warmUpSeconds);
    await pacedStreams(target, { streams: 64, chunks: 100, chunkDelayMs: 10 });
  }
  for (const streams of counts)
    for (const [target, pid] of targets) table.push(await row(target, pid, streams));
  print(table);
}

async function row(target: Target, pid: number, streams: number): Promise<string[]> {
  const before = cpuMs(pid);
  const { p50, p99, late, broken } = await pacedStreams(target, { streams, chunks, chunkDelayMs });
  const microseconds = 1_000 * (cpuMs(pid) - before);
  const worst = late.reduce((most, each) => Math.max(most, each), 0);
  return [
    String(streams),
    target.name,
    ...[p50, p99, percentile(late, 0.99), worst].map((ms) => figure(ms)),
    String(late.filter((ms) => ms > chunkDelayMs).length),
    String(broken),
    figure(microseconds / (streams * chunks)),
  ];
}

const { folder, remove } = await makeFolder();
const children = new Children();
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${chunks} frames a stream, one each ${chunkDelayMs} ms\n`,
  );
  const revisions = [{ name: 'gateway', root: path.join(import.meta.dirname, '../..') }];
  await measure(await openContest({ children, folder, size: 'one', sharesOneCore: true, revisions }));
} finally {
  await children.stop();
  await remove();
}
