import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryLocal } from '@gatehouse/test/local-database';
import { checkOut } from './base.ts';
import { Children } from './children.ts';
import { openContest, type Contest, type Gateway, type Process } from './contest.ts';
import { makeFolder } from './folder.ts';
import { frontier } from './frontier.ts';
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
import { cpuOf, emptySummaries, isServing, printSummaries, type Summaries } from './summary.ts';
import { figure, median, print } from './table.ts';
import { visibleAfter } from './visible.ts';

/**
 * `make bench`: the whole path against a zero-delay provider, beside the provider itself and a bare express +
 * http-proxy-middleware pass-through, in one run. The pass-through and the process with all services share the measured
 * core, or with BENCH_PROCESSES=separate edge and chat; with BENCH_CORES=1 PostgreSQL, all services and `make up`, which
 * then passes on a line of the log for each request. Everything else, this load generator included, runs on the other. BENCH_ROUNDS (3) and BENCH_SECONDS (4) set its length.
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
/** By then V8 and PostgreSQL have given back what they do not keep. */
const restSeconds = 60;
const rates = [30, 300, 600];
/** The rate of the summary. */
const summedRate = 300;
const paced = { streams: 128, chunks: 50, chunkDelayMs: 40 };
/** Besides its chunks, a stream has a reason, usage and an end. */
const framesOfRound = paced.streams * (paced.chunks + 3);

/** CPU time and memory of processes of a gateway. */
interface Footprint {
  /** Percent of a core without requests. */
  idleShare: number;
  idleMiB: number;
  idlePrivateMiB: number;
  /** CPU time of the requests under full load, in milliseconds. */
  cpu: number;
}

async function measure(contest: Contest): Promise<void> {
  const { provider, passThrough, gateways } = contest;
  const all = [provider, passThrough, ...gateways.map(({ target }) => target)];
  for (const target of [provider, passThrough]) await closedLoop(target, 64, warmUpSeconds);
  for (const { target, stateFolder } of gateways) {
    await closedLoop(target, 64, gatewayWarmUpSeconds);
    // Makes PostgreSQL use the files of its write-ahead log again, as it does by itself in time. In a new cluster, all
    // requests wait 50 ms or more for each new file of 16 MB.
    await queryLocal(stateFolder, 'checkpoint');
  }
  const footprints = await idleFootprints(contest);
  // V8 drops code of a process that was idle for a minute, as the first gateway was while the next one warmed up.
  for (const target of all) await closedLoop(target, 64, 2 * warmUpSeconds);

  const summaries = emptySummaries(contest);
  await throughput(contest, all, { footprints, summaries });
  await sameConditions(contest);
  await latencies(contest, all, summaries);
  await frontier(all.slice(1), seconds);
  await streaming(contest, all, summaries);
  const [gateway] = gateways;
  if (gateway !== undefined) await gatewayAlone(contest, gateway);
  const loaded = new Map(processesOf(contest).map(({ pid }) => [pid, residentMiB(pid)]));
  await sleep(restSeconds * 1_000);
  const cpuOfAll = (processes: readonly Process[]): number =>
    processes.reduce((sum, { pid }) => sum + (footprints.get(pid)?.cpu ?? 0), 0);
  print([
    [
      ...['process', 'CPU ms/request', '% of a core idle', 'MiB idle', 'MiB after load'],
      ...[`${restSeconds} s later`, 'of it private'],
    ],
    ...processesOf(contest).map(({ name, pid, isParent }) => {
      const { idleShare = 0, idleMiB = 0, cpu = 0 } = footprints.get(pid) ?? {};
      return [
        name,
        figure(cpu, 3),
        figure(idleShare),
        figure(idleMiB),
        figure(loaded.get(pid) ?? 0),
        figure(residentMiB(pid)),
        figure(privateMiB(pid, isParent)),
      ];
    }),
    ...gateways.map(({ target, processes }) => [`sum of ${target.name}`, figure(cpuOfAll(processes), 3)]),
  ]);
  printSummaries(summaries, footprints);
}

/** All processes. Those of the base have its name too. */
function processesOf({ gateways, processes }: Contest): Process[] {
  const named = gateways.flatMap(({ target, processes: own }, index) =>
    own.map((each) => (index === 0 ? each : { ...each, name: `${target.name}: ${each.name}` })),
  );
  return [...named, ...processes];
}

async function idleFootprints(contest: Contest): Promise<Map<number, Footprint>> {
  // Work that the load has left behind is done by then.
  await sleep(idleSeconds * 1_000);
  const processes = processesOf(contest);
  const before = processes.map(({ pid, isParent }) => cpuMs(pid, isParent));
  await sleep(idleSeconds * 1_000);
  return new Map(
    processes.map(({ pid, isParent }, index) => [
      pid,
      {
        idleShare: (cpuMs(pid, isParent) - (before[index] ?? 0)) / (10 * idleSeconds),
        idleMiB: residentMiB(pid),
        idlePrivateMiB: privateMiB(pid, isParent),
        cpu: 0,
      },
    ]),
  );
}

async function throughput(
  { provider, passThrough, gateways }: Contest,
  all: readonly Target[],
  { footprints, summaries }: { footprints: Map<number, Footprint>; summaries: Summaries },
): Promise<void> {
  const perSecond = new Map(all.map((target) => [target, [] as number[]]));
  const requests = new Map(gateways.map((gateway) => [gateway, 0]));
  const commits = new Map<Gateway, number>();
  for (const gateway of gateways) commits.set(gateway, -(await commitsOf(gateway)));
  for (let round = 0; round < rounds; round += 1) {
    for (const target of [provider, passThrough])
      perSecond.get(target)?.push((await closedLoop(target, 64, seconds)).perSecond);
    // Each is first in every other round: V8 drops code of the one that has waited.
    for (const gateway of round % 2 === 0 ? gateways : gateways.toReversed()) {
      const { target, processes } = gateway;
      const before = processes.map((each) => cpuOf([each]));
      const result = await closedLoop(target, 64, seconds);
      perSecond.get(target)?.push(result.perSecond);
      requests.set(gateway, (requests.get(gateway) ?? 0) + result.requests);
      for (const [at, each] of processes.entries()) {
        const footprint = footprints.get(each.pid);
        if (footprint !== undefined) footprint.cpu += cpuOf([each]) - (before[at] ?? 0);
      }
    }
  }
  for (const gateway of gateways) {
    commits.set(gateway, (commits.get(gateway) ?? 0) + (await commitsOf(gateway)));
    for (const { pid } of gateway.processes) {
      const footprint = footprints.get(pid);
      if (footprint !== undefined) footprint.cpu /= requests.get(gateway) ?? NaN;
    }
  }
  const bare = perSecond.get(passThrough) ?? [];
  const shareOf = ({ target }: Gateway): number =>
    median((perSecond.get(target) ?? []).map((each, round) => each / (bare[round] ?? NaN)));
  for (const [gateway, summary] of summaries) summary.ratio = shareOf(gateway);
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
    [
      'requests for each commit',
      ...all.map((target) => {
        const gateway = gateways.find((each) => each.target === target);
        if (gateway === undefined) return '';
        return figure((requests.get(gateway) ?? 0) / (commits.get(gateway) ?? NaN));
      }),
      ...gateways.map(() => ''),
    ],
  ]);
}

/**
 * CPU time of the work tree to the base's while each request goes to one of both by chance: other work on the machine and
 * the state of its caches are the same for both, so the medians of slices of a second hold to two percent under load.
 */
async function sameConditions({ gateways }: Contest): Promise<void> {
  const [tree, base] = gateways;
  if (tree === undefined || base === undefined) return;
  const ratios: number[] = [];
  for (let slice = 0; slice < rounds * seconds; slice += 1) {
    const before = [tree, base].map(({ processes }) => cpuOf(processes));
    const { done } = await closedLoop([tree.target, base.target], 64, 1);
    const [own = NaN, others = NaN] = [tree, base].map(
      (gateway, index) =>
        (cpuOf(gateway.processes) - (before[index] ?? 0)) / (done.get(gateway.target) ?? NaN),
    );
    ratios.push(own / others);
  }
  const sorted = ratios.toSorted((a, b) => a - b);
  const at = (share: number): string => figure(sorted[Math.floor(sorted.length * share)] ?? NaN, 3);
  print([
    ['CPU ms/request, both at a time', `${tree.target.name} : ${base.target.name}`, 'quartiles'],
    ['processes and PostgreSQL', figure(median(ratios), 3), `${at(0.25)} to ${at(0.75)}`],
  ]);
}

/** Transactions so far that wrote something, of all services. */
async function commitsOf({ stateFolder }: Gateway): Promise<number> {
  // Backends report what they have done once they are idle.
  await sleep(2_000);
  const [row] = await queryLocal<{ written: string }>(
    stateFolder,
    'select pg_snapshot_xmax(pg_current_snapshot())::text as written',
  );
  return Number(row?.written);
}

/** The results of each target; they take turns in every round. */
async function inTurns<Result>(
  all: readonly Target[],
  measureOne: (target: Target) => Promise<Result>,
): Promise<Result[][]> {
  const results: Result[][] = all.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const entries = [...all.entries()];
    // Each is first in every other round, as in `throughput`.
    for (const [index, target] of round % 2 === 0 ? entries : entries.toReversed())
      results[index]?.push(await measureOne(target));
  }
  return results;
}

/** The columns of latencies: the values, and what each target adds to the provider's own. */
function latencyHead(title: string, all: readonly Target[]): string[] {
  const names = all.map(({ name }) => name);
  return [title, ...names, ...names.slice(1).map((name) => `+ ${name}`)];
}

/** The medians of the rounds. */
function latencyRows(measured: readonly (readonly Latencies[])[], suffix = ''): string[][] {
  return (['p50', 'p99'] as const).map((name) => {
    const values = measured.map((results) => median(results.map((result) => result[name])));
    const [provider = NaN, ...others] = values;
    const added = others.map((value) => value - provider);
    return [`${name}${suffix}`, ...[...values, ...added].map((value) => figure(value, 2))];
  });
}

async function latencies({ gateways }: Contest, all: readonly Target[], summaries: Summaries): Promise<void> {
  const rows = [latencyHead('latency, ms', all)];
  for (const rate of rates) {
    const measured = await inTurns(all, (target) => openLoop(target, rate, seconds));
    rows.push(...latencyRows(measured, ` at ${rate}/s`));
    if (rate !== summedRate) continue;
    for (const gateway of gateways) {
      const at = all.indexOf(gateway.target);
      const added = { p50: addedBy(measured, at, 'p50'), p99: addedBy(measured, at, 'p99') };
      Object.assign(summaries.get(gateway) ?? {}, { added });
    }
  }
  print(rows);
}

/** The median that a target adds to the provider's, which is the first. */
function addedBy(measured: readonly (readonly Latencies[])[], at: number, name: keyof Latencies): number {
  const medianOf = (index: number): number => median((measured[index] ?? []).map((each) => each[name]));
  return medianOf(at) - medianOf(0);
}

async function streaming({ gateways }: Contest, all: readonly Target[], summaries: Summaries): Promise<void> {
  const measured = await inTurns(all, async (target) => {
    const processes = gateways.find((each) => each.target === target)?.processes.filter(isServing) ?? [];
    const before = cpuOf(processes);
    const result = await pacedStreams(target, paced);
    return { ...result, frame: (1_000 * (cpuOf(processes) - before)) / framesOfRound };
  });
  for (const gateway of gateways) {
    const at = all.indexOf(gateway.target);
    const frame = median((measured[at] ?? []).map((each) => each.frame));
    Object.assign(summaries.get(gateway) ?? {}, { addedFirst: addedBy(measured, at, 'p50'), frame });
  }
  const many = new Map<Target, StreamsResult>();
  for (const { target } of gateways)
    many.set(target, await pacedStreams(target, { streams: 256, chunks: 50, chunkDelayMs: 100 }));
  print([
    latencyHead('time to first token, 128 streams, ms', all),
    ...latencyRows(measured),
    [
      'broken streams',
      ...measured.map((results) => String(results.reduce((sum, { broken }) => sum + broken, 0))),
    ],
    ['broken of 256 streams', ...all.map((target) => String(many.get(target)?.broken ?? ''))],
  ]);
}

/** Measures that only the gateway of the work tree takes part in. */
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

const { folder, remove } = await makeFolder();
const children = new Children();
let other: Awaited<ReturnType<typeof checkOut>> | null = null;
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${rounds} rounds of ${seconds} s, processes: ${size}${sharesOneCore ? ', on one core with PostgreSQL' : ''}\n`,
  );
  if (base !== undefined) other = await checkOut(base, path.join(folder, 'base-tree'));
  const revisions = [{ name: 'gateway', root: path.join(import.meta.dirname, '../..') }];
  if (other !== null) revisions.push({ name: `base ${base ?? ''}`, root: other.root });
  await measure(await openContest({ children, folder, size, sharesOneCore, revisions }));
} finally {
  await children.stop();
  await other?.remove();
  await remove();
}
