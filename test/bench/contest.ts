import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { freePort } from '@gatehouse/local/ports';
import { readProcessList } from '@gatehouse/local/process-list';
import { stringify } from 'yaml';
import { lineOf, type Children } from './children.ts';
import type { Target } from './load.ts';
import { pin } from './processes.ts';

/**
 * Targets that are measured in one run: the provider alone, the pass-through, and one or two revisions of the gateway.
 */
export interface Contest {
  provider: Target;
  passThrough: Target;
  /** The work tree first, then the base. */
  gateways: Gateway[];
  processes: Process[];
  /** A provider that keeps records of its requests, and the model that it serves. */
  watched: { model: string; url: string };
}

export interface Gateway {
  target: Target;
  credentials: LocalCredentials;
  processes: Process[];
  stateFolder: string;
}

export interface Process {
  name: string;
  pid: number;
  /** Whether its children are processes of their own here. */
  isParent?: true;
}

export interface ContestOptions {
  children: Children;
  folder: string;
  /** All services in one process, or one process for each. */
  size: 'one' | 'separate';
  /** Whether PostgreSQL and all services share the measured core. */
  sharesOneCore: boolean;
  revisions: { name: string; root: string }[];
}

const measuredCore = 0;
const otherCore = 1;

/** Starts everything, and binds each process to its core. */
export async function openContest(options: ContestOptions): Promise<Contest> {
  const { children, folder, sharesOneCore } = options;
  const providerPort = await freePort();
  const provider = children.start('test/bench/provider.ts', { args: [String(providerPort)] });
  await once(provider, 'message');
  const providerUrl = `http://127.0.0.1:${providerPort}`;
  const simulatorPort = await freePort();
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  const simulator = children.start('test/support/provider-simulator/main.ts', {
    env: { PORT: String(simulatorPort) },
  });
  await lineOf(simulator, /listening/);
  const passPort = await freePort();
  const passThrough = children.start('test/bench/pass-through.ts', { args: [String(passPort), providerUrl] });
  await once(passThrough, 'message');

  const models = path.join(folder, 'models.yaml');
  await writeFile(models, catalogue(providerUrl, simulatorUrl));
  // Parents first: binding a process binds its children too.
  for (const pid of [process.pid, simulator.pid ?? 0]) pin(pid, otherCore);
  const gateways: Gateway[] = [];
  for (const revision of options.revisions)
    gateways.push(await startGateway({ ...options, ...revision, models }));

  const processes = [
    { name: 'provider', pid: provider.pid ?? 0 },
    { name: 'pass-through', pid: passThrough.pid ?? 0 },
  ];
  const pinned = [...gateways.flatMap((gateway) => gateway.processes), ...processes].map(({ name, pid }) =>
    pin(pid, isMeasured(name, sharesOneCore) ? measuredCore : otherCore),
  );
  if (pinned.includes(false)) console.log('processes could not be bound to cores: the figures mean little');
  return {
    provider: { name: 'provider', url: providerUrl, headers: {} },
    passThrough: { name: 'pass-through', url: `http://127.0.0.1:${passPort}`, headers: {} },
    gateways,
    processes,
    watched: { model: 'watched', url: simulatorUrl },
  };
}

function catalogue(providerUrl: string, simulatorUrl: string): string {
  const price = { input_per_mtok: '0.4', output_per_mtok: '1.6' };
  return stringify({
    providers: [
      { name: 'provider', kind: 'openai', base_url: `${providerUrl}/v1` },
      { name: 'simulator', kind: 'openai', base_url: `${simulatorUrl}/v1` },
    ],
    // With a price, which a budget needs.
    models: [
      { id: 'bench', provider: 'provider', price },
      { id: 'watched', provider: 'simulator', price },
    ],
  });
}

/** Starts a gateway with this catalogue, as `make up` does. */
export async function startGateway({
  children,
  folder,
  size,
  name,
  root,
  models,
  sharesOneCore = false,
}: Pick<ContestOptions, 'children' | 'folder' | 'size'> & {
  /** Whether `make up` is on the core of the services, with a line of its log for each request. */
  sharesOneCore?: boolean;
  name: string;
  root: string;
  models: string;
}): Promise<Gateway> {
  const stateFolder = path.join(folder, name);
  const up = children.start('deploy/local/up.ts', {
    root,
    env: {
      PORT: String(await freePort()),
      GATEHOUSE_STATE: stateFolder,
      GATEHOUSE_MODELS: models,
      OPENAI_API_KEY: 'unused',
      // At `info` the supervisor passes on a line a request, elsewhere on the core that the load generator needs.
      LOG_LEVEL: sharesOneCore ? 'info' : 'warn',
      GATEHOUSE_PROCESSES: size,
    },
  });
  await lineOf(up, /^ready: /m);
  pin(up.pid ?? 0, sharesOneCore ? measuredCore : otherCore);
  const credentials = JSON.parse(
    await readFile(path.join(stateFolder, 'credentials.json'), 'utf8'),
  ) as LocalCredentials;
  const listed = readProcessList(stateFolder).map(({ name, pid }) => ({ name, pid: pid ?? 0 }));
  const supervisor = { name: 'make up', pid: up.pid ?? 0, isParent: true } as const;
  const processes = sharesOneCore ? [...listed, supervisor] : listed;
  return {
    credentials,
    processes,
    stateFolder,
    target: { name, url: credentials.url, headers: { authorization: `Bearer ${credentials.user_key}` } },
  };
}

/** Whether a process runs on the measured core. */
function isMeasured(name: string, sharesOneCore: boolean): boolean {
  if (sharesOneCore) return name !== 'provider';
  return /^(edge|chat|gatehouse|pass)/.test(name);
}
