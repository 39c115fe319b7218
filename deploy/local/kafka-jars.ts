import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from './settings.ts';
import { StartError } from './start-error.ts';

const run = promisify(execFile);

const pom = path.join(import.meta.dirname, 'kafka/pom.xml');
const cacheFolder = path.join(repositoryRoot, 'node_modules/.cache/gatehouse');
const oldestJava = 17;
/** The first copy downloads 43 MB. */
const copyTimeoutMs = 600_000;
const outputTailLines = 5;

/** Environment variables Maven may need; excludes all secrets of services. */
const passedToMaven = /^(PATH|HOME|USER|LANG|TMPDIR|JAVA_.*|MAVEN_.*|M2_.*|.*_proxy)$/i;

export interface KafkaProgram {
  /** Path of a Java program of a supported version. */
  java: string;
  /** The class path (`-cp`) of the programs of Kafka. */
  classPath: string;
}

/**
 * Returns the Kafka program, after copying its jars with Maven if necessary. Throws one sentence about what is missing.
 */
export async function kafkaProgram(log?: (message: string) => void): Promise<KafkaProgram> {
  const java = await findJava();
  const folder = await jarsFolder();
  if (!(await exists(folder))) {
    await assertMaven();
    log?.('downloading its jars (first start only)');
    await copyJars(folder);
  }
  return { java, classPath: path.join(folder, '*') };
}

/** The reason why Kafka cannot be started on this machine; undefined when it can. */
export async function kafkaObstacle(): Promise<string | undefined> {
  try {
    await findJava();
    if (!(await exists(await jarsFolder()))) await assertMaven();
    return undefined;
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
}

/** Named after the version, so another version gets new copies. */
async function jarsFolder(): Promise<string> {
  const version = /<version>(.+?)<\/version>/.exec(await readFile(pom, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${pom} has no version`);
  return path.join(cacheFolder, `kafka-${version}`);
}

async function findJava(): Promise<string> {
  const home = process.env['JAVA_HOME'];
  const java = home ? path.join(home, 'bin/java') : 'java';
  const wanted = `Kafka needs Java ${oldestJava} or newer`;
  const { stderr } = await run(java, ['-version']).catch((error: unknown) => {
    throw new StartError(`${wanted}: "${java} -version" fails; install a JRE, or set JAVA_HOME.`, {
      cause: error,
    });
  });
  const version = /version "(\d+)/.exec(stderr)?.[1];
  if (version === undefined || Number(version) < oldestJava)
    throw new StartError(`${wanted}: ${java} is Java ${version ?? 'of an unknown version'}.`);
  return java;
}

async function assertMaven(): Promise<void> {
  await run('mvn', ['--version'], { env: mavenEnvironment() }).catch((error: unknown) => {
    throw new StartError(
      'Maven is needed to download the jars of Kafka: "mvn --version" fails; install Maven, or set KAFKA_BROKERS to a running Kafka.',
      { cause: error },
    );
  });
}

/** Copies to a temporary folder and renames it when complete. If two copies run at once, the first one stays. */
async function copyJars(folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.unfinished-`);
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${unfinished}`];
  try {
    await run('mvn', ['--quiet', '--batch-mode', '--file', pom, ...goal], {
      env: mavenEnvironment(),
      timeout: copyTimeoutMs,
    });
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } catch (error) {
    throw new StartError(`Downloading the jars of Kafka failed:\n${tail(error)}`, { cause: error });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

function mavenEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => passedToMaven.test(name)));
}

/** The first lines of error output; Maven writes errors to standard output. */
function tail(error: unknown): string {
  const { stdout = '', message } = error as Error & { stdout?: string };
  return (stdout.trim() || message).split('\n').slice(0, outputTailLines).join('\n');
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
