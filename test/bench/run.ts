import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from '@gatehouse/local/credentials';
import { freePort } from '@gatehouse/local/ports';
import { stringify } from 'yaml';
import { limitedTenant, pairsOf } from './limited.ts';
import { abortDelays, closedLoop, openLoop, pacedStreams, type StreamsResult, type Target } from './load.ts';
import { visibleAfter } from './visible.ts';
import { cpuMs, pin, privateMiB, residentMiB } from './processes.ts';

/**
 * `make bench`: the whole path against a zero-delay provider, beside the provider itself and a bare express +
 * http-proxy-middleware pass-through, in one run. The pass-through and the process with all services share the measured
 * core, or with BENCH_PROCESSES=separate edge and chat; with BENCH_CORES=1 PostgreSQL and all services. Everything else,
 * this load generator included, runs on the other. BENCH_ROUNDS (3) and BENCH_SECONDS (4) set its length.
 */

const size = process.env['BENCH_PROCESSES'] ?? 'one';
const sharesOneCore = process.env['BENCH_CORES'] === '1';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);
const measuredCore = 0;
const otherCore = 1;
const warmUpSeconds = 5;
/** V8 goes on optimising the gateway's code for that long: a fifth of the measured core goes into it after ten seconds. */
const gatewayWarmUpSeconds = 40;
const root = path.join(import.meta.dirname, '../..');

interface Process {
  name: string;
  pid: number;
}

const children: ChildProcess[] = [];

function start(script: string, args: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [path.join(root, script), ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  children.push(child);
  return child;
}

async function lineOf(child: ChildProcess, pattern: RegExp): Promise<void> {
  let seen = '';
  return new Promise((resolve, reject) => {
    // Stays attached, so that the process can go on writing.
    child.stdout?.on('data', (chunk) => {
      seen += String(chunk).slice(0, 10_000);
      if (pattern.test(seen)) resolve();
    });
    child.once('exit', () => reject(new Error(`a process ended before it was ready:\n${seen}`)));
  });
}

async function stopAll(): Promise<void> {
  for (const child of children.splice(0).reverse()) {
    if (child.exitCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
}

interface Setup {
  targets: { provider: Target; passThrough: Target; gateway: Target; limited: Target };
  processes: Process[];
  watched: { model: string; url: string };
}

async function setUp(folder: string): Promise<Setup> {
  const providerPort = await freePort();
  const provider = start('test/bench/provider.ts', [String(providerPort)], {});
  await once(provider, 'message');
  const providerUrl = `http://127.0.0.1:${providerPort}`;
  const simulatorPort = await freePort();
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  const simulator = start('test/support/provider-simulator/main.ts', [], { PORT: String(simulatorPort) });
  await lineOf(simulator, /listening/);
  const price = { input_per_mtok: '0.4', output_per_mtok: '1.6' };
  const models = path.join(folder, 'models.yaml');
  await writeFile(
    models,
    stringify({
      providers: [
        { name: 'provider', kind: 'openai', base_url: `${providerUrl}/v1` },
        { name: 'simulator', kind: 'openai', base_url: `${simulatorUrl}/v1` },
      ],
      // With a price, which a budget needs.
      models: [
        { id: 'bench', provider: 'provider', price },
        { id: 'watched', provider: 'simulator', price },
      ],
    }),
  );
  const state = path.join(folder, 'state');
  const up = start('deploy/local/up.ts', [], {
    PORT: String(await freePort()),
    GATEHOUSE_STATE: state,
    GATEHOUSE_MODELS: models,
    OPENAI_API_KEY: 'unused',
    // At `info` the supervisor would print two lines a request, on the core that the load generator needs.
    LOG_LEVEL: 'warn',
    GATEHOUSE_PROCESSES: size,
  });
  await lineOf(up, /^ready: /m);
  const credentials = JSON.parse(await readFile(path.join(state, 'credentials.json'), 'utf8')) as Credentials;
  const passPort = await freePort();
  const passThrough = start('test/bench/pass-through.ts', [String(passPort), providerUrl], {});
  await once(passThrough, 'message');
  const own = JSON.parse(await readFile(path.join(state, 'processes.json'), 'utf8')) as Process[];
  const processes = [
    ...own,
    { name: 'provider', pid: provider.pid ?? 0 },
    { name: 'pass-through', pid: passThrough.pid ?? 0 },
  ];
  // Parents first: binding a process binds its children too.
  for (const pid of [process.pid, up.pid ?? 0, simulator.pid ?? 0]) pin(pid, otherCore);
  const pinned = processes.map(({ name, pid }) => pin(pid, isMeasured(name) ? measuredCore : otherCore));
  if (pinned.includes(false)) console.log('processes could not be bound to cores: the figures mean little');
  return {
    watched: { model: 'watched', url: simulatorUrl },
    processes,
    targets: {
      provider: { name: 'provider', url: providerUrl, headers: {} },
      passThrough: { name: 'pass-through', url: `http://127.0.0.1:${passPort}`, headers: {} },
      gateway: {
        name: 'gateway',
        url: credentials.url,
        headers: { authorization: `Bearer ${credentials.user_key}` },
      },
      limited: await limitedTenant(credentials),
    },
  };
}

/** Whether a process runs on the measured core. */
function isMeasured(name: string): boolean {
  if (sharesOneCore) return name !== 'provider' && name !== 'simulator';
  return /^(edge|chat|gatehouse|pass)/.test(name);
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const figure = (value: number, digits = 1): string => value.toFixed(digits);

const idleSeconds = 10;

/** The share of a core that processes take while nothing is asked of them, in percent. */
async function idleShares(processes: readonly Process[]): Promise<Map<string, number>> {
  const before = processes.map(({ pid }) => cpuMs(pid));
  await sleep(idleSeconds * 1_000);
  return new Map(
    processes.map(({ name, pid }, index) => [name, (cpuMs(pid) - (before[index] ?? 0)) / (10 * idleSeconds)]),
  );
}

async function measure({ targets, processes, watched }: Setup): Promise<void> {
  const all = [targets.provider, targets.passThrough, targets.gateway];
  for (const target of all)
    await closedLoop(target, 64, target === targets.gateway ? gatewayWarmUpSeconds : warmUpSeconds);
  // What the load has left behind is done by then.
  await sleep(idleSeconds * 1_000);
  const shares = await idleShares(processes);
  const idle = new Map(processes.map(({ name, pid }) => [name, residentMiB(pid)]));

  const throughput = new Map(all.map((target) => [target, [] as number[]]));
  const cpu = new Map<string, number>();
  let gatewayRequests = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const target of all) {
      const before = processes.map(({ pid }) => cpuMs(pid));
      const { perSecond, requests } = await closedLoop(target, 64, seconds);
      throughput.get(target)?.push(perSecond);
      if (target !== targets.gateway) continue;
      gatewayRequests += requests;
      processes.forEach(({ name, pid }, index) =>
        cpu.set(name, (cpu.get(name) ?? 0) + cpuMs(pid) - (before[index] ?? 0)),
      );
    }
  }
  const perSecond = (target: Target): number => median(throughput.get(target) ?? []);
  const pairs = (throughput.get(targets.gateway) ?? []).map(
    (value, index) => value / (throughput.get(targets.passThrough)?.[index] ?? NaN),
  );

  const open = { p50: [] as number[][], p99: [] as number[][] };
  for (let round = 0; round < rounds; round += 1) {
    const results = [];
    for (const target of all) results.push(await openLoop(target, 300, seconds));
    open.p50.push(results.map((each) => each.p50));
    open.p99.push(results.map((each) => each.p99));
  }
  const streams: StreamsResult[] = [];
  for (const target of all)
    streams.push(await pacedStreams(target, { streams: 128, chunks: 50, chunkDelayMs: 40 }));
  const many = await pacedStreams(targets.gateway, { streams: 256, chunks: 50, chunkDelayMs: 100 });
  const visible = await visibleAfter(targets.gateway, 300, seconds * 2);
  const limited = await pairsOf(targets.limited, targets.gateway, { pairs: 5, seconds });
  const worstAbort = await abortDelays(targets.gateway, watched, 10);

  const column = (values: number[][], index: number): number =>
    median(values.map((row) => row[index] ?? NaN));
  const rows: string[][] = [
    ['measure', 'provider', 'pass-through', 'gateway', 'gateway : pass-through'],
    [
      'unary requests/s, 64 connections',
      figure(perSecond(targets.provider), 0),
      figure(perSecond(targets.passThrough), 0),
      figure(perSecond(targets.gateway), 0),
      figure(median(pairs), 2),
    ],
    ...(['p50', 'p99'] as const).map((name) => {
      const [bare, pass, gate] = [0, 1, 2].map((index) => column(open[name], index)) as [
        number,
        number,
        number,
      ];
      return [
        `${name} latency at 300/s, ms`,
        figure(bare, 2),
        figure(pass, 2),
        figure(gate, 2),
        `added ${figure(gate - bare, 2)} : ${figure(pass - bare, 2)}`,
      ];
    }),
    ...(['p50', 'p99'] as const).map((name) => {
      const [bare, pass, gate] = streams.map((each) => each[name]) as [number, number, number];
      return [
        `${name} time to first token, 128 streams, ms`,
        figure(bare, 2),
        figure(pass, 2),
        figure(gate, 2),
        `added ${figure(gate - bare, 2)} : ${figure(pass - bare, 2)}`,
      ];
    }),
    ['broken of 128 streams', ...streams.map((each) => String(each.broken)), ''],
    ['broken of 256 streams', '', '', String(many.broken), ''],
    ['p50 from end to visible in follow at 300/s, ms', '', '', figure(visible.p50, 0), ''],
    ['p99 from end to visible in follow at 300/s, ms', '', '', figure(visible.p99, 0), ''],
    ['requests/s with limits : without, median of 5 pairs', '', '', figure(median(limited), 2), ''],
    ['abort seen by the provider, worst of 10, ms', '', '', figure(worstAbort, 0), ''],
  ];
  print(rows);
  print([
    ['process', 'CPU ms/request', '% of a core idle', 'MiB idle', 'MiB after load', 'of it private'],
    ...processes.map(({ name, pid }) => [
      name,
      figure((cpu.get(name) ?? 0) / gatewayRequests, 3),
      figure(shares.get(name) ?? 0),
      figure(idle.get(name) ?? 0),
      figure(residentMiB(pid)),
      figure(privateMiB(pid)),
    ]),
    ['sum', figure([...cpu.values()].reduce((sum, each) => sum + each, 0) / gatewayRequests, 3)],
  ]);
}

function print(rows: string[][]): void {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  for (const row of rows)
    console.log(
      row
        .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
        .join('  '),
    );
  console.log('');
}

const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-bench-'));
// PostgreSQL runs as a user of its own when we are root, and has to get in.
await chmod(folder, 0o755);
try {
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${rounds} rounds of ${seconds} s, processes: ${size}${sharesOneCore ? ', on one core with PostgreSQL' : ''}\n`,
  );
  await measure(await setUp(folder));
} finally {
  await stopAll();
  await rm(folder, { recursive: true, force: true });
}
