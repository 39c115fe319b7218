import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { kafkaAnswers } from './kafka-answers.ts';
import { kafkaProgram, type KafkaProgram } from './kafka-jars.ts';
import { keepKafkaPid, stopKafkaLeftover } from './kafka-leftover.ts';
import { freePort, loopback } from './ports.ts';
import { describeExit, stopInTurn, type RunningProcess } from './running-process.ts';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

export interface KafkaOptions {
  /** Created if it does not exist. Contains `data/`, `server.properties`, `kafka.log` and `kafka.pid`. */
  directory: string;
  /** The port for clients; by default a free one. */
  port?: number;
  /** The address to listen on; by default loopback. */
  host?: string;
  /** Called with messages about slow steps. */
  log?: (message: string) => void;
}

/**
 * A single Kafka node, both broker and controller. A kill loses no acknowledged message, because the operating system
 * keeps its pages.
 */
export interface RunningKafka extends RunningProcess {
  /** `<host>:<port>`, as in `KAFKA_BROKERS`. */
  readonly brokers: string;
}

const startTimeoutMs = 90_000;
const stopTimeoutMs = 10_000;
const answerTimeoutMs = 1_000;
const logLines = 15;

/** Less JIT compilation and one thread of garbage collection: starts in 1.5 s instead of 2.1 s. */
const javaOptions = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const logOptions = Object.entries({
  showDateTime: 'true',
  dateTimeFormat: "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
  // Suppresses hundreds of settings at each start.
  'log.org.apache.kafka.common.config': 'warn',
  'log.kafka.server.KafkaConfig': 'warn',
}).map(([name, value]) => `-Dorg.slf4j.simpleLogger.${name}=${value}`);

/**
 * Starts Apache Kafka (KRaft) on a folder, by default reachable from this machine only. Resolves when it answers
 * requests; throws with the reason from its log when it does not. A later start on the same folder keeps its topics, on
 * any port. First ends a process left there by an earlier run.
 */
export async function startKafka(options: KafkaOptions): Promise<RunningKafka> {
  const program = await kafkaProgram(options.log);
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const directory = await realpath(options.directory);
  await stopKafkaLeftover(directory);
  const port = options.port ?? (await freePort());
  const { host = loopback } = options;
  const place = { directory, host, port, controllerPort: await freePort() };
  if (!(await isFormatted(place))) {
    options.log?.('formatting its storage');
    await format(program, place);
  }
  const loggedBefore = await logSize(directory);
  const child = await spawnServer(program, place);
  const { pid } = child;
  if (pid === undefined) throw new StartError(`Kafka could not be started: ${program.java}`);
  keepKafkaPid(directory, pid);
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(describeExit(code, signal)));
  });
  try {
    await answers(child, place);
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    const reason = await errorLines(directory, loggedBefore);
    throw new StartError(`${(error as Error).message} From ${logFile(directory)}:\n${reason}`, {
      cause: error,
    });
  }
  return {
    brokers: `${host}:${port}`,
    pid,
    ended,
    stop: () => stopInTurn(child, ended, { signals: ['SIGTERM', 'SIGKILL'], timeoutMs: stopTimeoutMs }),
    kill: () => child.kill('SIGKILL'),
  };
}

interface KafkaInstallation {
  /** Without symbolic links. */
  directory: string;
  host: string;
  port: number;
  controllerPort: number;
}

function dataFolder(directory: string): string {
  return path.join(directory, 'data');
}

function logFile(directory: string): string {
  return path.join(directory, 'kafka.log');
}

/** `server.properties`. All other settings have the defaults of Kafka. */
function properties({ host, port, controllerPort }: KafkaInstallation, data: string): string {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    listeners: `BROKER://${host}:${port},CONTROLLER://${loopback}:${controllerPort}`,
    'advertised.listeners': `BROKER://${host}:${port}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    // Static voters are not stored in the metadata, so the controller port may differ at the next start.
    'controller.quorum.voters': `1@${loopback}:${controllerPort}`,
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'message.max.bytes': 1_048_588,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 4,
    // The first consumer of a group does not wait for others.
    'group.initial.rebalance.delay.ms': 0,
    // Default: 128 MiB, allocated at start.
    'log.cleaner.dedupe.buffer.size': 8 * 1_048_576,
    // After a kill, the broker can only return when the session of its predecessor has expired: 4 s instead of 11 s.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${escaped(String(value))}\n`)
    .join('');
}

/** Escapes a value for a Java properties file: backslashes, and characters other than printable ASCII as `\uXXXX`. */
function escaped(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

async function isFormatted({ directory }: KafkaInstallation): Promise<boolean> {
  return stat(path.join(dataFolder(directory), 'meta.properties')).then(
    () => true,
    () => false,
  );
}

/** Formats the folder, which gives it a permanent cluster id. Uses a temporary folder and renames it when complete. */
async function format(program: KafkaProgram, place: KafkaInstallation): Promise<void> {
  const unfinished = `${dataFolder(place.directory)}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const file = path.join(place.directory, 'format.properties');
  await writeFile(file, properties(place, unfinished));
  const clusterId = randomBytes(16).toString('base64url');
  // With "=", because an id may begin with a dash.
  const tool = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '--config', file];
  try {
    await run(program.java, [...javaOptions, '-cp', program.classPath, ...tool], { env: environment() });
  } catch (error) {
    throw new StartError(`Formatting the storage of Kafka failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
  await rename(unfinished, dataFolder(place.directory));
  await rm(file);
}

async function spawnServer(program: KafkaProgram, place: KafkaInstallation): Promise<ChildProcess> {
  const file = path.join(place.directory, 'server.properties');
  await writeFile(file, properties(place, dataFolder(place.directory)));
  const options = [...javaOptions, ...logOptions, '-cp', program.classPath, 'kafka.Kafka', file];
  const log = await open(logFile(place.directory), 'a');
  try {
    return spawn(program.java, options, {
      cwd: place.directory,
      env: environment(),
      stdio: ['ignore', log.fd, log.fd],
      // In its own session, so Ctrl-C in a terminal does not stop it before the services, which need it.
      detached: true,
    }).on('error', () => undefined);
  } finally {
    await log.close();
  }
}

/** Passes nothing else: no secrets, and no CLASSPATH or JAVA_TOOL_OPTIONS, which would change the server. */
function environment(): Record<string, string> {
  // Without UTF-8, Java cannot open files with non-ASCII names.
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8', TZ: 'UTC' };
}

async function answers(child: ChildProcess, { host, port }: KafkaInstallation): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error('Kafka exited during its start.');
    if (await kafkaAnswers(host, port, answerTimeoutMs)) return;
    if (Date.now() > deadline) throw new Error(`Kafka did not answer in ${startTimeoutMs / 1_000} s.`);
    await sleep(30);
  }
}

async function logSize(directory: string): Promise<number> {
  return stat(logFile(directory)).then(
    ({ size }) => size,
    () => 0,
  );
}

/** The errors logged since `since`; after them Kafka writes a hundred lines about its shutdown. */
async function errorLines(directory: string, since: number): Promise<string> {
  const log = await readFile(logFile(directory)).catch(() => Buffer.alloc(0));
  const lines = log.subarray(since).toString().trimEnd().split('\n');
  const errors = lines.filter((line) => /^(Caused by|Exception|Error)\b| (ERROR|FATAL) /.test(line));
  return (errors.length > 0 ? errors : lines).slice(-logLines).join('\n');
}
