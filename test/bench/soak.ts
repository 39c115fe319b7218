import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryLocal } from '@gatehouse/test/local-database';
import { withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { openLoop, pacedStreams, type StreamsResult } from './load.ts';
import { privateMiB } from './processes.ts';
import { figure, print } from './table.ts';

/**
 * `make bench`: whether a process with all services and its PostgreSQL grow under a load that stays the same. Prints their
 * memory, open files, tables and latency each tenth of the time, and fails if one grew more than its bound.
 * BENCH_SOAK_SECONDS (600) sets how long.
 */

const soakSeconds = Number(process.env['BENCH_SOAK_SECONDS'] ?? 600);
const samples = 10;
const perSecond = 200;
const streams = 32;
const chunkDelayMs = 40;

/** Tables whose rows go once they are of no use. */
const queues = ['chat.run_log', 'chat.outbox', 'chat.open_runs'];

interface Sample {
  /** Anonymous memory of each process, in MiB. */
  memory: number[];
  files: number[];
  /** MiB of each queue. */
  queues: number[];
  streams: Streams | null;
}

type Streams = Pick<StreamsResult, 'p50' | 'broken'>;

async function soak(gateway: Gateway): Promise<void> {
  const taken: Sample[] = [];
  for (let sample = 0; sample <= samples; sample += 1) {
    const result = sample > 0 ? await load(gateway, soakSeconds / samples) : null;
    taken.push({
      memory: gateway.processes.map(({ pid }) => privateMiB(pid)),
      files: gateway.processes.map(({ pid }) => readdirSync(`/proc/${pid}/fd`).length),
      queues: await sizes(gateway),
      streams: result,
    });
  }
  report(gateway, taken);
  for (const reason of grown(taken)) {
    console.log(reason);
    process.exitCode = 1;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

/** Growth beyond its bound. Caches and pools fill in the first tenths, so that later ones are compared. */
function grown(taken: readonly Sample[]): string[] {
  const [, , early, , filled] = taken;
  const last = taken.at(-1);
  if (early === undefined || filled === undefined || last === undefined)
    throw new Error('the soak has too few samples');
  const factor = (last.streams?.p50 ?? NaN) / (early.streams?.p50 ?? NaN);
  const checks: [string, number, number][] = [
    ['private MiB at the end, to those after four tenths', sum(last.memory) / sum(filled.memory), 1.1],
    ['open files more than after four tenths', sum(last.files) - sum(filled.files), 20],
    ['MiB of queues more than after four tenths', sum(last.queues) - sum(filled.queues), 20],
    ['first chunk, p50, to that of the second tenth', factor, 1.3],
    ['broken streams', sum(taken.map(({ streams }) => streams?.broken ?? 0)), 0],
  ];
  // NaN is no pass.
  return checks
    .filter(([, value, most]) => !(value <= most))
    .map(([name, value, most]) => `${name}: ${figure(value, 2)}, at most ${most}`);
}

function report(gateway: Gateway, taken: readonly Sample[]): void {
  const rows = taken.map(({ memory, files, queues: tables, streams: result }, sample) => [
    figure((sample * soakSeconds) / samples, 0),
    ...memory.map((value) => figure(value)),
    ...files.map(String),
    ...tables.map((value) => figure(value)),
    result === null ? '' : figure(result.p50),
  ]);
  const names = gateway.processes.map(({ name }) => name);
  print([
    [
      's',
      ...names.map((name) => `${name}, MiB`),
      ...names.map((name) => `files of ${name}`),
      ...queues.map((name) => `${name}, MiB`),
      'first chunk, p50 ms',
    ],
    ...rows,
  ]);
}

async function load({ target }: Gateway, seconds: number): Promise<Streams> {
  const chunks = Math.floor((seconds * 1_000) / chunkDelayMs / 2);
  const [, result] = await Promise.all([
    openLoop(target, perSecond, seconds),
    pacedStreams(target, { streams, chunks, chunkDelayMs }),
  ]);
  // The work that the last requests left behind is done by then.
  await sleep(2_000);
  return result;
}

async function sizes({ stateFolder }: Gateway): Promise<number[]> {
  const found = await queryLocal<{ name: string; bytes: string }>(
    stateFolder,
    'select name, pg_total_relation_size(name::regclass)::text as bytes from unnest($1::text[]) as name',
    [queues],
  );
  return found.map(({ bytes }) => Number(bytes) / 1_048_576);
}

const price = { input_per_mtok: '0.4', output_per_mtok: '1.6' };
await withGateway(
  {
    provider: 'test/bench/provider.ts',
    catalogue: (url) => ({
      providers: [{ name: 'provider', kind: 'openai', base_url: `${url}/v1` }],
      models: [{ id: 'bench', provider: 'provider', price }],
    }),
    load: `${perSecond} requests a second and ${streams} streams for ${soakSeconds} s`,
    sharesOneCore: true,
  },
  soak,
);
