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
  /** Made when missing. Holds `data/`, `server.properties`, `kafka.log` and `kafka.pid`. */
  directory: string;
  /** Where clients connect; a free one unless given. */
  port?: number;
  /** The one address that it listens on, the loopback's unless given. */
  host?: string;
  /** Told of what takes a moment. */
  log?: (message: string) => void;
}

/** One Kafka that is broker and controller. A kill loses nothing that was acknowledged: the system has its pages. */
export interface RunningKafka extends RunningProcess {
  /** `<host>:<port>`, as `KAFKA_BROKERS` has it. */
  readonly brokers: string;
}

const startTimeoutMs = 90_000;
const stopTimeoutMs = 10_000;
const answerTimeoutMs = 1_000;
const logLines = 15;

/** Less time in the JIT: up in 1.5 s instead of 2.1 s. */
const javaOptions = ['-Xmx512m', '-XX:TieredStopAtLevel=1'];
const logOptions = Object.entries({
  showDateTime: 'true',
  dateTimeFormat: "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
  // Hundreds of settings at each start.
  'log.org.apache.kafka.common.config': 'warn',
  'log.kafka.server.KafkaConfig': 'warn',
}).map(([name, value]) => `-Dorg.slf4j.simpleLogger.${name}=${value}`);

/**
 * Starts Apache Kafka (KRaft) on a folder, for this machine only unless told otherwise. Returns when it answers requests; throws with
 * the reason from its log when it does not. A start in the same folder continues with its topics, on whatever port; what an
 * earlier run has left running there is ended first.
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
    const reason = await complaints(directory, loggedBefore);
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

interface Place {
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

/** `server.properties`. All else is Kafka's default. */
function properties({ host, port, controllerPort }: Place, data: string): string {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    listeners: `BROKER://${host}:${port},CONTROLLER://${loopback}:${controllerPort}`,
    'advertised.listeners': `BROKER://${host}:${port}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    // Voters that are not written into the metadata: the controller's port may differ at the next start.
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
    // The first consumer of a group need not wait for others.
    'group.initial.rebalance.delay.ms': 0,
    // 128 MiB unless set, taken at the start.
    'log.cleaner.dedupe.buffer.size': 8 * 1_048_576,
    // After a kill it may not come back before the session of its predecessor is over: up in 4 s instead of 11 s.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${escaped(String(value))}\n`)
    .join('');
}

/** As Java reads properties: a backslash escapes, and what is not Latin-1 is written `\uXXXX`. */
function escaped(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

async function isFormatted({ directory }: Place): Promise<boolean> {
  return stat(path.join(dataFolder(directory), 'meta.properties')).then(
    () => true,
    () => false,
  );
}

/** Gives the folder its cluster id for good. Made beside its place and moved there when whole. */
async function format(program: KafkaProgram, place: Place): Promise<void> {
  const unfinished = `${dataFolder(place.directory)}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const file = path.join(place.directory, 'format.properties');
  await writeFile(file, properties(place, unfinished));
  const clusterId = randomBytes(16).toString('base64url');
  // The form with "=": an id may begin with a dash.
  const tool = ['kafka.tools.StorageTool', 'format', `--cluster-id=${clusterId}`, '--config', file];
  try {
    await run(program.java, [...javaOptions, '-cp', program.classPath, ...tool], { env: environment() });
  } catch (error) {
    throw new StartError(`Kafka's storage could not be formatted: ${(error as Error).message}`, {
      cause: error,
    });
  }
  await rename(unfinished, dataFolder(place.directory));
  await rm(file);
}

async function spawnServer(program: KafkaProgram, place: Place): Promise<ChildProcess> {
  const file = path.join(place.directory, 'server.properties');
  await writeFile(file, properties(place, dataFolder(place.directory)));
  const options = [...javaOptions, ...logOptions, '-cp', program.classPath, 'kafka.Kafka', file];
  const log = await open(logFile(place.directory), 'a');
  try {
    return spawn(program.java, options, {
      cwd: place.directory,
      env: environment(),
      stdio: ['ignore', log.fd, log.fd],
      // In a session of its own, so that Ctrl-C in a terminal does not stop it before those who still need it.
      detached: true,
    }).on('error', () => undefined);
  } finally {
    await log.close();
  }
}

/** Nothing of ours: neither our secrets nor CLASSPATH or JAVA_TOOL_OPTIONS that would change what the server does. */
function environment(): Record<string, string> {
  // UTF-8 or Java can't open files whose names are not ASCII.
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8', TZ: 'UTC' };
}

async function answers(child: ChildProcess, { host, port }: Place): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('Kafka ended at its start.');
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

/** The errors that were logged since: after them Kafka writes a hundred lines about its end. */
async function complaints(directory: string, since: number): Promise<string> {
  const log = await readFile(logFile(directory)).catch(() => Buffer.alloc(0));
  const lines = log.subarray(since).toString().trimEnd().split('\n');
  const errors = lines.filter((line) => /^(Caused by|Exception|Error)\b| (ERROR|FATAL) /.test(line));
  return (errors.length > 0 ? errors : lines).slice(-logLines).join('\n');
}
