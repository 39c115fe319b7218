import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryLocal } from '@gatehouse/test/local-database';
import { withGateway } from './alone.ts';
import type { Gateway } from './contest.ts';
import { openLoop, pacedStreams } from './load.ts';
import { privateMiB } from './processes.ts';
import { figure, print } from './table.ts';

/**
 * `make bench`: whether a process with all services and its PostgreSQL grow under a load that stays the same. Prints their
 * memory, open files and tables each tenth of the time. BENCH_SOAK_SECONDS (600) sets how long.
 */

const soakSeconds = Number(process.env['BENCH_SOAK_SECONDS'] ?? 600);
const samples = 10;
const perSecond = 200;
const streams = 32;
const chunkDelayMs = 40;

/** Tables whose rows go once they are of no use. */
const queues = ['chat.run_log', 'chat.outbox', 'chat.open_runs'];

async function soak(gateway: Gateway): Promise<void> {
  const rows: string[][] = [];
  for (let sample = 0; sample <= samples; sample += 1) {
    if (sample > 0) await load(gateway, soakSeconds / samples);
    const memory = gateway.processes.map(({ pid }) => figure(privateMiB(pid)));
    const files = gateway.processes.map(({ pid }) => String(readdirSync(`/proc/${pid}/fd`).length));
    rows.push([figure((sample * soakSeconds) / samples, 0), ...memory, ...files, ...(await sizes(gateway))]);
  }
  const names = gateway.processes.map(({ name }) => name);
  print([
    [
      's',
      ...names.map((name) => `${name}, MiB`),
      ...names.map((name) => `files of ${name}`),
      ...queues.map((name) => `${name}, MiB`),
    ],
    ...rows,
  ]);
}

async function load({ target }: Gateway, seconds: number): Promise<void> {
  const chunks = Math.floor((seconds * 1_000) / chunkDelayMs / 2);
  await Promise.all([
    openLoop(target, perSecond, seconds),
    pacedStreams(target, { streams, chunks, chunkDelayMs }),
  ]);
  // The work that the last requests left behind is done by then.
  await sleep(2_000);
}

async function sizes({ stateFolder }: Gateway): Promise<string[]> {
  const found = await queryLocal<{ name: string; bytes: string }>(
    stateFolder,
    'select name, pg_total_relation_size(name::regclass)::text as bytes from unnest($1::text[]) as name',
    [queues],
  );
  return found.map(({ bytes }) => figure(Number(bytes) / 1_048_576));
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
