import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { assertReachable, postgresUser, type OsUser } from './os-user.ts';
import { loopback } from './ports.ts';
import { postgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { stopLeftovers } from './postgres-leftovers.ts';
import { describeExit, stopInTurn, type RunningProcess } from './running-process.ts';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

export interface PostgresOptions {
  /** Created if it does not exist. `<folder>.password` (0600) and `<folder>.log` are beside it. */
  dataDirectory: string;
  port: number;
  /** Server settings in place of the defaults, like `{ fsync: 'off' }` for disposable data. */
  settings?: Record<string, string>;
  /** Other PostgreSQL binaries than those from npm. */
  binaries?: PostgresBinaries;
  /** Called with messages about slow steps. */
  log?: (message: string) => void;
}

/** The postmaster. `stop` is the fast shutdown: it closes sessions and keeps everything committed. */
export interface Postgres extends RunningProcess {
  readonly port: number;
  /** `postgres://` URL of the superuser. */
  adminUrl: (database: string) => string;
}

const superuser = 'postgres';
const majorVersion = '18';
/** Includes recovery after a crash. */
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;
const logTailLines = 15;

/**
 * Starts PostgreSQL on a data folder, on the loopback address only, durable unless `settings` disable that. Resolves
 * when it accepts connections; throws with the end of its log when it does not.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const [binaries, user] = await Promise.all([options.binaries ?? postgresBinaries(), postgresUser()]);
  await mkdir(path.dirname(options.dataDirectory), { recursive: true });
  const parent = await realpath(path.dirname(options.dataDirectory));
  const dataDirectory = path.join(parent, path.basename(options.dataDirectory));
  await assertReachable(dataDirectory, user);
  await assertReachable(binaries.postgres, user);
  await stopLeftovers(dataDirectory);
  const cluster = { ...options, dataDirectory, binaries, user };
  const password = await initialise(cluster);
  const logFile = `${dataDirectory}.log`;
  const child = await spawnServer(cluster, logFile);
  const { pid } = child;
  if (pid === undefined) throw new StartError(`Failed to start PostgreSQL: ${binaries.postgres}`);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(describeExit(code, signal)));
  });
  const adminUrl = (database: string): string => adminUrlOf({ port: options.port, password }, database);
  try {
    await acceptsConnections(child, adminUrl('postgres'));
  } catch (error) {
    child.kill('SIGKILL');
    throw new StartError(`${(error as Error).message} The end of ${logFile}:\n${await tail(logFile)}`, {
      cause: error,
    });
  }
  return {
    port: options.port,
    pid,
    ended,
    adminUrl,
    // Fast shutdown, then immediate shutdown.
    stop: () =>
      stopInTurn(child, ended, { signals: ['SIGINT', 'SIGQUIT', 'SIGKILL'], timeoutMs: stopTimeoutMs }),
    // Immediate shutdown: the next start recovers, and nothing is lost.
    kill: () => child.kill('SIGQUIT'),
  };
}

/** `postgres://` URL of the superuser of a server on this machine. */
export function adminUrlOf({ port, password }: { port: number; password: string }, database: string): string {
  return `postgres://${superuser}:${password}@${loopback}:${port}/${encodeURIComponent(database)}`;
}

/** The password of the superuser of a data folder. */
export function readPassword(dataDirectory: string): Promise<string> {
  return readFile(`${dataDirectory}.password`, 'utf8');
}

interface Cluster extends PostgresOptions {
  binaries: PostgresBinaries;
  user: OsUser;
}

/** Returns the password of the superuser. Creates the data folder if it does not exist. */
async function initialise(cluster: Cluster): Promise<string> {
  const { dataDirectory, user } = cluster;
  const passwordFile = `${dataDirectory}.password`;
  const version = await readFile(path.join(dataDirectory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined) {
    if (version.trim() !== majorVersion)
      throw new StartError(
        `${dataDirectory} has data of PostgreSQL ${version.trim()}; this release runs PostgreSQL ${majorVersion}.`,
      );
    return readPassword(dataDirectory);
  }
  cluster.log?.('creating a database cluster');
  const password = randomBytes(24).toString('base64url');
  await writeFile(passwordFile, password, { mode: 0o600 });
  // Uses a temporary folder and renames it when complete, so an interrupted initdb leaves no data folder.
  const unfinished = `${dataDirectory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  for (const target of [unfinished, passwordFile]) {
    if (user.uid !== undefined && user.gid !== undefined) await chown(target, user.uid, user.gid);
  }
  await chmod(passwordFile, 0o600);
  const options = [`--pgdata=${unfinished}`, `--username=${superuser}`, `--pwfile=${passwordFile}`];
  options.push('--locale=C', '--encoding=UTF8', ...(await providerOptions(cluster.binaries)));
  options.push('--auth=scram-sha-256', '--no-instructions');
  if (cluster.settings?.['fsync'] === 'off') options.push('--no-sync');
  await run(cluster.binaries.initdb, options, { ...identityOf(user), cwd: '/', env: environment() });
  await rename(unfinished, dataDirectory);
  return password;
}

/**
 * Letters of all scripts, in the order of their code points, whatever the machine has. A folder made before keeps `C`, as
 * releases before PostgreSQL 17 have it.
 */
async function providerOptions({ initdb }: PostgresBinaries): Promise<string[]> {
  const { stdout } = await run(initdb, ['--version'], { env: environment() });
  const major = Number(/\d+/.exec(stdout)?.[0]);
  return major < 17 ? [] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
}

async function spawnServer(cluster: Cluster, logFile: string): Promise<ChildProcess> {
  const settings = {
    listen_addresses: loopback,
    unix_socket_directories: '',
    max_connections: '300',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...cluster.settings,
  };
  const options = ['-D', cluster.dataDirectory, '-p', String(cluster.port)];
  for (const [name, value] of Object.entries(settings)) options.push('-c', `${name}=${value}`);
  const log = await open(logFile, 'a', 0o600);
  try {
    return spawn(cluster.binaries.postgres, options, {
      ...identityOf(cluster.user),
      cwd: '/',
      env: environment(),
      stdio: ['ignore', log.fd, log.fd],
      // In its own session, so Ctrl-C in a terminal does not stop it before the services, which need it.
      detached: true,
    }).on('error', () => undefined);
  } finally {
    await log.close();
  }
}

function identityOf(user: OsUser): { uid?: number; gid?: number } {
  return user.uid === undefined || user.gid === undefined ? {} : { uid: user.uid, gid: user.gid };
}

/** Passes nothing else: no secrets, and no PG* variables, which would change the server. */
function environment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };
}

async function acceptsConnections(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error('PostgreSQL exited during its start.');
    const error = await connectionError(url);
    if (error === undefined) return;
    // Class 28, invalid authorization: a retry would fail too.
    if ('code' in error && String(error.code).startsWith('28')) throw error;
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL did not accept connections in ${startTimeoutMs / 1_000} s.`, {
        cause: error,
      });
    await sleep(30);
  }
}

async function connectionError(url: string): Promise<Error | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function tail(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-logTailLines).join('\n');
}
