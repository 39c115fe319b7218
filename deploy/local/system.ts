import path from 'node:path';
import { services } from '@gatehouse/contract/services';
import { bootstrap } from './bootstrap.ts';
import { CredentialsFile, type LocalCredentials } from './credentials.ts';
import { serviceUrl, type DatabaseOptions } from './database.ts';
import { serviceEnvironment, sharedEnvironment, type EnvironmentOptions } from './environment.ts';
import { GatewayClient } from './gateway-client.ts';
import { readCertificate, urlOf } from './local-tls.ts';
import { stopKafkaLeftover } from './kafka-leftover.ts';
import { startKafka } from './kafka.ts';
import { issuerSecretsIn } from './issuer-secrets.ts';
import { lockState } from './lock.ts';
import { makeLoginLink, runOfTenant } from './login-link.ts';
import { heapLimit } from './heap-limit.ts';
import type { LogStream } from './log-stream.ts';
import { freePort, loopback } from './ports.ts';
import { startPostgres, type Postgres } from './postgres.ts';
import { assertCatalogue, assertPortsFree, assertReadable, makeStateFolder } from './preconditions.ts';
import { endListedLeftovers, writeProcessList } from './process-list.ts';
import { startNode } from './running-process.ts';
import { loadSecrets, type LocalSecrets } from './secrets.ts';
import { allServices, repositoryRoot, type LocalSettings } from './settings.ts';
import { StartError } from './start-error.ts';
import { runStep } from './start-step.ts';
import { Supervised, type SupervisedOptions } from './supervised.ts';
import { planReplicas, type Replica } from './topology.ts';

export interface SystemOptions {
  settings: LocalSettings;
  /** The environment of the supervisor. */
  caller: Record<string, string | undefined>;
  log: LogStream;
  /** An ended service is started again by itself (the default), or with the next `restart`. */
  restartOnExit?: boolean;
}

/** Node's own default; further processes of the service take the ports after it. */
const firstInspectPort = 9229;
/** A service abandons its stop ten seconds after its drain time, a process of several after twenty. */
const stopMarginMs = 22_000;
const answerTimeoutMs = 1_000;

const simulatorMain = path.join(repositoryRoot, 'test/support/provider-simulator/main.ts');

const pagesBuild = path.join(repositoryRoot, 'packages/web/build.ts');
const preparation = path.join(import.meta.dirname, 'prepare.ts');

const composedMain = path.join(repositoryRoot, 'deploy/composed/src/main.ts');

function mainOf(service: string): string {
  return path.join(repositoryRoot, 'services', service, 'src/main.ts');
}

/** The entry file of a process. */
function mainOfReplica({ services: [first, ...others] }: Replica): string {
  return first === undefined || others.length > 0 ? composedMain : mainOf(first.name);
}

/** Provider settings by which the simulator answers. */
function simulatorSettings(url: string): Record<string, string> {
  return {
    ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'simulator' },
    ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'simulator' },
    ...{ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'simulator' },
  };
}

/** Runs the whole system on this machine: PostgreSQL, every service and, if needed, Kafka and the simulator. */
export class LocalSystem {
  readonly #options: SystemOptions;
  /** Started in this order and stopped in reverse; members of one group stop together. */
  readonly #groups: Supervised[][] = [];
  readonly #stopping = new AbortController();
  #starting: Promise<unknown> = Promise.resolve();
  #migrate: () => Promise<void> = async () => undefined;
  #unlock: () => Promise<void> = async () => undefined;
  #database: DatabaseOptions | undefined;

  constructor(options: SystemOptions) {
    this.#options = options;
  }

  /** Resolves when the system is ready. Throws a `StartError` for problems the operator can solve. */
  async start(): Promise<LocalCredentials> {
    const starting = this.#start();
    this.#starting = starting;
    return starting;
  }

  /** Link to log a browser in once, within a minute, with the admin key of the demo tenant. */
  async makeLoginLink(credentials: LocalCredentials): Promise<string> {
    if (this.#database === undefined) throw new Error('the system has not been started');
    return makeLoginLink(credentials, { database: this.#database, caller: this.#options.caller });
  }

  /** Stops everything: the edge first, the database and Kafka last. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const group of this.#groups.toReversed()) await Promise.all(group.map((member) => member.stop()));
    await this.#starting.catch(() => undefined);
    // Stops members added by a concurrent start.
    for (const group of this.#groups.toReversed()) await Promise.all(group.map((member) => member.stop()));
    await this.#unlock();
  }

  /** Stops the processes of these services and starts them again. PostgreSQL and Kafka run on. */
  async restart(names: readonly string[]): Promise<void> {
    const affected = names.length === 0 ? [] : [...names, 'gatehouse'];
    const members = this.#groups.flat().filter(({ name }) => affected.includes(name.replace(/-\d+$/, '')));
    await Promise.all(members.map((member) => member.restart()));
  }

  /** Applies the migrations the database does not have yet. */
  async migrate(): Promise<void> {
    await this.#migrate();
  }

  /** Ends everything at once. */
  kill(): void {
    this.#stopping.abort();
    for (const member of this.#groups.flat()) member.kill();
  }

  async #start(): Promise<LocalCredentials> {
    const { settings, log } = this.#options;
    await this.#prepareState();
    const secrets = await loadSecrets(
      settings.stateFolder,
      services.map(({ name }) => name),
    );
    const [database, kafkaBrokers] = await Promise.all([this.#startDatabase(secrets), this.#findKafka()]);
    this.#database = database;
    if (kafkaBrokers !== undefined) await this.#prepare({ KAFKA_BROKERS: kafkaBrokers });
    const provider = settings.simulated ? await this.#startSimulator() : {};
    const replicas = await planReplicas(settings);
    const certificate = settings.tls && (await readCertificate(settings.tls.cert));
    const url = urlOf(settings.port, certificate);
    const { caller } = this.#options;
    const issuerSecrets = await issuerSecretsIn(caller['OIDC_ISSUERS']);
    const environment = {
      replicas,
      secrets,
      database,
      modelsFile: settings.modelsFile,
      issuerSecrets,
      url,
      tls: settings.tls,
      caller,
      provider,
      kafkaBrokers,
    };
    await this.#startServices(environment);
    this.#stopping.signal.throwIfAborted();
    const file = new CredentialsFile(settings.stateFolder);
    const credentials = await bootstrap({
      gateway: new GatewayClient(url, certificate),
      url,
      known: await file.read(),
      createOwnerKey: () => this.#createOwnerKey(environment),
      keep: (known) => file.keep(known),
      log: (message) => log.say(message, 'WARN'),
    });
    await file.write(credentials);
    return credentials;
  }

  async #prepareState(): Promise<void> {
    const { settings, caller } = this.#options;
    await assertReadable(settings.modelsFile);
    await makeStateFolder(settings.stateFolder);
    const provider = settings.simulated ? simulatorSettings(`http://${loopback}`) : {};
    await assertCatalogue(settings.modelsFile, { ...provider, ...caller });
    await runStep(pagesBuild, [], sharedEnvironment(caller));
    this.#unlock = await lockState(settings.stateFolder);
    const mains = new Set([...services.map(({ name }) => mainOf(name)), composedMain, simulatorMain]);
    await endListedLeftovers(settings.stateFolder, mains);
    const { port, replicas } = settings;
    await assertPortsFree(port, replicas.get('edge') ?? replicas.get(allServices) ?? 1);
  }

  async #startDatabase(secrets: LocalSecrets): Promise<DatabaseOptions> {
    const { settings, log } = this.#options;
    const port = await freePort();
    let server: Postgres | undefined;
    await this.#startGroup([
      {
        name: 'postgres',
        ports: { postgres: port },
        launch: async () => {
          server = await startPostgres({
            dataDirectory: path.join(settings.stateFolder, 'postgres'),
            port,
            log: (message) => log.say(`PostgreSQL: ${message}`),
          });
          return server;
        },
        isReady: async () => true,
      },
    ]);
    if (server === undefined) throw new StartError('PostgreSQL was stopped during its start.');
    const { adminUrl } = server;
    const database = { adminUrl, passwords: secrets.databasePasswords };
    this.#stopping.signal.throwIfAborted();
    this.#migrate = () =>
      this.#prepare({
        ADMIN_URL: adminUrl('postgres'),
        PASSWORDS: JSON.stringify(secrets.databasePasswords),
      });
    await this.#migrate();
    return database;
  }

  /** Returns the brokers of an existing Kafka, or starts one if requested; undefined without Kafka. */
  async #findKafka(): Promise<string | undefined> {
    const { settings, log } = this.#options;
    const directory = path.join(settings.stateFolder, 'kafka');
    if (!settings.kafka) {
      await stopKafkaLeftover(directory);
      return settings.kafkaBrokers;
    }
    const port = await freePort();
    await this.#startGroup([
      {
        name: 'kafka',
        ports: { kafka: port },
        launch: () =>
          startKafka({
            directory,
            port,
            log: (message) => log.say(`Kafka: ${message}`),
          }),
        isReady: async () => true,
      },
    ]);
    return `${loopback}:${port}`;
  }

  /** Starts the simulator and returns the provider settings for the catalogue. */
  async #startSimulator(): Promise<Record<string, string>> {
    const { log, caller } = this.#options;
    log.say(
      'OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY are not set: the bundled simulator answers, not a model.',
      'WARN',
    );
    const port = await freePort();
    const url = `http://${loopback}:${port}`;
    const environment = { ...sharedEnvironment(caller), HOST: loopback, PORT: String(port) };
    await this.#startGroup([
      {
        name: 'simulator',
        ports: { http: port },
        launch: () =>
          startNode({
            name: 'simulator',
            main: simulatorMain,
            environment,
            log,
            stopTimeoutMs: stopMarginMs,
          }),
        isReady: () => answers(`${url}/control/ledger`),
      },
    ]);
    return simulatorSettings(url);
  }

  async #startServices(environment: EnvironmentOptions): Promise<void> {
    const sameServices = Map.groupBy(environment.replicas, ({ services: run }) => run[0]);
    const groups = [...sameServices.values()].map((replicas) =>
      replicas.map((replica, index) => this.#supervisedService(replica, index, environment)),
    );
    // Starts all groups at once: no service needs another one to become ready. The order applies to stopping.
    await Promise.all(groups.map((group) => this.#startGroup(group)));
  }

  #supervisedService(replica: Replica, index: number, environment: EnvironmentOptions): MemberOptions {
    const { log, settings, restartOnExit = true } = this.#options;
    const inspected = replica.services.some(({ name }) => name === settings.inspect);
    const serviceVariables = serviceEnvironment(replica, environment);
    const drainMs = Number(serviceVariables['DRAIN_TIMEOUT_MS']) + Number(serviceVariables['DRAIN_DELAY_MS']);
    return {
      name: replica.name,
      ports: replica.ports,
      restartOnExit,
      launch: () =>
        startNode({
          name: replica.name,
          main: mainOfReplica(replica),
          nodeOptions: [
            heapLimit(environment.replicas.length),
            ...(inspected ? [`--inspect=${loopback}:${firstInspectPort + index}`] : []),
          ],
          environment: serviceVariables,
          log,
          stopTimeoutMs: drainMs + stopMarginMs,
        }),
      isReady: () => answers(`http://${loopback}:${replica.ports.admin}/readyz`),
    };
  }

  async #startGroup(members: MemberOptions[]): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const { log } = this.#options;
    const group = members.map((member) => {
      return new Supervised({ ...member, log, onChange: () => this.#listProcesses() });
    });
    this.#groups.push(group);
    await Promise.all(group.map((member) => member.start()));
  }

  #listProcesses(): void {
    const members = this.#groups.flat();
    writeProcessList(
      this.#options.settings.stateFolder,
      members.map(({ name, pid, ports }) => ({ name, pid: pid ?? null, ports })),
    );
  }

  async #createOwnerKey({ database, kafkaBrokers }: EnvironmentOptions): Promise<string> {
    // `--force`, because this runs only when the owner key is unknown here, so an existing one is lost.
    const settings = {
      DATABASE_URL: serviceUrl(database, 'tenant'),
      ...(kafkaBrokers === undefined ? {} : { KAFKA_BROKERS: kafkaBrokers }),
    };
    return runOfTenant('bootstrap.ts', ['--force'], { caller: this.#options.caller, settings });
  }

  /** Runs the migration step. */
  async #prepare(settings: Record<string, string>): Promise<void> {
    const env = { ...sharedEnvironment(this.#options.caller), ...settings };
    await runStep(preparation, [], env);
  }
}

type MemberOptions = Omit<SupervisedOptions, 'log' | 'onChange'>;

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
