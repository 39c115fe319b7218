import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkOut } from './base.ts';
import { Children } from './children.ts';
import { openContest, type Contest, type Gateway } from './contest.ts';
import { limitedTenant, pairsOf } from './limited.ts';
import {
  abortDelays,
  closedLoop,
  openLoop,
  pacedStreams,
  type Latencies,
  type StreamsResult,
  type Target,
} from './load.ts';
import { cpuMs, privateMiB, residentMiB } from './processes.ts';
import { figure, median, print } from './table.ts';
import { visibleAfter } from './visible.ts';

/**
 * `make bench`: the whole path against a zero-delay provider, beside the provider itself and a bare express +
 * http-proxy-middleware pass-through, in one run. The pass-through and the process with all services share the measured
 * core, or with BENCH_PROCESSES=separate edge and chat; with BENCH_CORES=1 PostgreSQL and all services. Everything else,
 * this load generator included, runs on the other. BENCH_ROUNDS (3) and BENCH_SECONDS (4) set its length.
 * BENCH_BASE=<revision> measures that revision too, in turns with the work tree.
 */

const size = process.env['BENCH_PROCESSES'] === 'separate' ? 'separate' : 'one';
const sharesOneCore = process.env['BENCH_CORES'] === '1';
const base = process.env['BENCH_BASE'];
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);

const warmUpSeconds = 5;
/** V8 goes on optimising the gateway's code for that long: a fifth of the measured core goes into it after ten seconds. */
const gatewayWarmUpSeconds = 40;
const idleSeconds = 10;
const rates = [30, 300, 600];

/** What processes of a gateway take and hold. */
interface Footprint {
  /** Of a core, in percent, while nothing is asked of it. */
  idleShare: number;
  idleMiB: number;
  /** CPU time of the requests under full load, in milliseconds. */
  cpu: number;
}

async function measure(contest: Contest): Promise<void> {
  const { provider, passThrough, gateways } = contest;
  const all = [provider, passThrough, ...gateways.map(({ target }) => target)];
  for (const target of [provider, passThrough]) await closedLoop(target, 64, warmUpSeconds);
  for (const { target } of gateways) await closedLoop(target, 64, gatewayWarmUpSeconds);
  const footprints = await idleFootprints(contest);

  await throughput(contest, all, footprints);
  await latencies(all);
  await streaming(contest, all);
  const [gateway] = gateways;
  if (gateway !== undefined) await gatewayAlone(contest, gateway);
  print([
    ['process', 'CPU ms/request', '% of a core idle', 'MiB idle', 'MiB after load', 'of it private'],
    ...processesOf(contest).map(({ name, pid }) => {
      const { idleShare = 0, idleMiB = 0, cpu = 0 } = footprints.get(pid) ?? {};
      return [
        name,
        figure(cpu, 3),
        figure(idleShare),
        figure(idleMiB),
        figure(residentMiB(pid)),
        figure(privateMiB(pid)),
      ];
    }),
  ]);
}

/** All processes. Those of the base have its name too. */
function processesOf({ gateways, processes }: Contest): { name: string; pid: number }[] {
  const named = gateways.flatMap(({ target, processes: own }, index) =>
    own.map(({ name, pid }) => ({ name: index === 0 ? name : `${target.name}: ${name}`, pid })),
  );
  return [...named, ...processes];
}

async function idleFootprints(contest: Contest): Promise<Map<number, Footprint>> {
  // What the load has left behind is done by then.
  await sleep(idleSeconds * 1_000);
  const processes = processesOf(contest);
  const before = processes.map(({ pid }) => cpuMs(pid));
  await sleep(idleSeconds * 1_000);
  return new Map(
    processes.map(({ pid }, index) => [
      pid,
      {
        idleShare: (cpuMs(pid) - (before[index] ?? 0)) / (10 * idleSeconds),
        idleMiB: residentMiB(pid),
        cpu: 0,
      },
    ]),
  );
}

async function throughput(
  { provider, passThrough, gateways }: Contest,
  all: readonly Target[],
  footprints: Map<number, Footprint>,
): Promise<void> {
  const perSecond = new Map(all.map((target) => [target, [] as number[]]));
  const requests = gateways.map(() => 0);
  for (let round = 0; round < rounds; round += 1) {
    for (const target of [provider, passThrough])
      perSecond.get(target)?.push((await closedLoop(target, 64, seconds)).perSecond);
    for (const [index, { target, processes }] of gateways.entries()) {
      const before = processes.map(({ pid }) => cpuMs(pid));
      const result = await closedLoop(target, 64, seconds);
      perSecond.get(target)?.push(result.perSecond);
      requests[index] = (requests[index] ?? 0) + result.requests;
      for (const [at, { pid }] of processes.entries()) {
        const footprint = footprints.get(pid);
        if (footprint !== undefined) footprint.cpu += cpuMs(pid) - (before[at] ?? 0);
      }
    }
  }
  for (const [index, { processes }] of gateways.entries())
    for (const { pid } of processes) {
      const footprint = footprints.get(pid);
      if (footprint !== undefined) footprint.cpu /= requests[index] ?? NaN;
    }
  const bare = perSecond.get(passThrough) ?? [];
  const shareOf = ({ target }: Gateway): number =>
    median((perSecond.get(target) ?? []).map((each, round) => each / (bare[round] ?? NaN)));
  print([
    [
      '64 connections',
      ...all.map(({ name }) => name),
      ...gateways.map(({ target }) => `${target.name} : pass-through`),
    ],
    [
      'requests/s',
      ...all.map((target) => figure(median(perSecond.get(target) ?? []), 0)),
      ...gateways.map((gateway) => figure(shareOf(gateway), 2)),
    ],
  ]);
}

/** The columns of latencies: the values, and what each target adds to the provider's own. */
function latencyHead(title: string, [, ...others]: readonly Target[], names: readonly string[]): string[] {
  return [title, ...names, ...others.map(({ name }) => `+ ${name}`)];
}

function latencyRow(title: string, values: readonly number[]): string[] {
  const [provider = NaN, ...others] = values;
  return [title, ...[...values, ...others.map((value) => value - provider)].map((value) => figure(value, 2))];
}

async function latencies(all: readonly Target[]): Promise<void> {
  const names = all.map(({ name }) => name);
  const rows = [latencyHead('latency, ms', all, names)];
  for (const rate of rates) {
    const measured: Latencies[][] = all.map(() => []);
    for (let round = 0; round < rounds; round += 1)
      for (const [index, target] of all.entries())
        measured[index]?.push(await openLoop(target, rate, seconds));
    for (const name of ['p50', 'p99'] as const)
      rows.push(
        latencyRow(
          `${name} at ${rate}/s`,
          measured.map((results) => median(results.map((result) => result[name]))),
        ),
      );
  }
  print(rows);
}

async function streaming({ gateways }: Contest, all: readonly Target[]): Promise<void> {
  const measured: StreamsResult[][] = all.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, target] of all.entries())
      measured[index]?.push(await pacedStreams(target, { streams: 128, chunks: 50, chunkDelayMs: 40 }));
  const names = all.map(({ name }) => name);
  print([
    latencyHead('time to first token, 128 streams, ms', all, names),
    ...(['p50', 'p99'] as const).map((name) =>
      latencyRow(
        name,
        measured.map((results) => median(results.map((result) => result[name]))),
      ),
    ),
    [
      'broken streams',
      ...measured.map((results) => String(results.reduce((sum, { broken }) => sum + broken, 0))),
    ],
  ]);
  for (const { target } of gateways) {
    const { broken } = await pacedStreams(target, { streams: 256, chunks: 50, chunkDelayMs: 100 });
    if (broken > 0) console.log(`${target.name}: ${broken} of 256 streams broken\n`);
  }
}

/** What only the gateway of the work tree is asked. */
async function gatewayAlone({ watched }: Contest, { target, credentials }: Gateway): Promise<void> {
  const visible = await visibleAfter(target, 300, seconds * 2);
  const limited = await pairsOf(await limitedTenant(credentials), target, { pairs: 5, seconds });
  const worstAbort = await abortDelays(target, watched, 10);
  print([
    ['gateway', ''],
    [
      'from the end to visible in follow at 300/s, p50 and p99, ms',
      `${figure(visible.p50, 0)} and ${figure(visible.p99, 0)}`,
    ],
    ['requests/s with limits : without, median of 5 pairs', figure(median(limited), 2)],
    ['abort seen by the provider, worst of 10, ms', figure(worstAbort, 0)],
  ]);
}

const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-bench-'));
// PostgreSQL runs as a user of its own when we are root, and has to get in.
await chmod(folder, 0o755);
const children = new Children();
const other = base === undefined ? null : await checkOut(base, path.join(folder, 'base-tree'));
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${rounds} rounds of ${seconds} s, processes: ${size}${sharesOneCore ? ', on one core with PostgreSQL' : ''}\n`,
  );
  const revisions = [{ name: 'gateway', root: path.join(import.meta.dirname, '../..') }];
  if (other !== null) revisions.push({ name: `base ${base ?? ''}`, root: other.root });
  await measure(await openContest({ children, folder, size, sharesOneCore, revisions }));
} finally {
  await children.stop();
  await other?.remove();
  await rm(folder, { recursive: true, force: true });
}
