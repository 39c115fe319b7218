import type { RequestListener } from 'node:http';
import type { ServiceName } from '@gatehouse/contract/services';
import type { TakeEvents } from '@gatehouse/events/dead-letters';
import { RpcClient, type RpcOptions, type RpcStub } from '@gatehouse/grpc/client';
import type { RpcService } from '@gatehouse/grpc/rpc';
import { createApp, type AppOptions } from '@gatehouse/http/app';
import { bodyBudget } from '@gatehouse/http/body-share';
import type { CertificateFiles } from '@gatehouse/kit/certificate-files';
import type { BodyBudget } from '@gatehouse/kit/body-budget';
import { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { createMeter } from '@gatehouse/kit/create-meter';
import { createTracer } from '@gatehouse/kit/create-tracer';
import { createLogger, type Logger } from '@gatehouse/kit/log';
import type { Meter } from '@gatehouse/kit/meter';
import {
  createRegistry,
  httpDuration,
  rpcDuration,
  type Histogram,
  type Registry,
} from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import type { Part } from './compose.ts';
import { ConnectionCount } from './connection-count.ts';
import type { ReadyCheck } from './readiness.ts';
import type { Neighbour, Neighbours } from './neighbours.ts';
import { Service, type ServiceBase, type ServiceDefinition } from './service.ts';
import { internalCertificate, type ServiceConfig } from './settings.ts';

/** Dependencies of a service from its surroundings: a process with several services, or a test. */
export interface ShellOverrides {
  log?: Logger | undefined;
  /** The services of the process. Default: this one is alone. */
  neighbours?: Neighbours | undefined;
  /** Shared by the services of the process, since they share its memory. */
  bodyBudget?: BodyBudget | undefined;
}

/**
 * The common base of all services: log, metrics, tracer, identity, and the parts to start and stop. Creating a shell
 * opens nothing: connections and ports open when the service starts.
 */
export class Shell implements ServiceBase {
  readonly name: ServiceName;
  readonly config: ServiceConfig;
  readonly log: Logger;
  readonly registry: Registry;
  readonly tracer: Tracer | undefined;
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly httpDuration: Histogram<'route' | 'status'>;
  readonly bodyBudget: BodyBudget;
  readonly neighbours: Neighbours | undefined;
  /** The connections to databases its process opens. */
  readonly connections: ConnectionCount;
  /** The consumers of topics, which `consumeTopic` adds. */
  readonly takers = new Map<string, TakeEvents>();
  /** The sources of its outboxes, which `publishOutbox` adds. */
  readonly outboxSources = new Set<string>();
  /** See {@link ServiceBase}. */
  readonly certificate: CertificateFiles | undefined;
  readonly #parts: Part[] = [];
  readonly #rpcs: RpcService[] = [];
  readonly #ready: Record<string, ReadyCheck> = {};
  #rpcDuration: Histogram<'peer' | 'method' | 'code'> | undefined;

  private constructor(
    name: ServiceName,
    config: ServiceConfig,
    made: Pick<Shell, 'log' | 'registry' | 'tracer' | 'signer' | 'verifier' | 'certificate'>,
    { neighbours, bodyBudget: shared }: ShellOverrides,
  ) {
    this.neighbours = neighbours;
    this.connections = neighbours?.connections ?? new ConnectionCount();
    this.name = name;
    this.config = config;
    this.log = made.log;
    this.registry = made.registry;
    this.tracer = made.tracer;
    this.signer = made.signer;
    this.verifier = made.verifier;
    this.httpDuration = httpDuration(made.registry);
    this.bodyBudget = shared ?? bodyBudget(config, made.registry);
    this.add({ stop: () => made.tracer?.stop() });
    this.certificate = made.certificate;
    if (this.certificate !== undefined) this.add(this.certificate);
  }

  static async create(
    name: ServiceName,
    config: ServiceConfig,
    overrides: ShellOverrides = {},
  ): Promise<Shell> {
    const log = overrides.log ?? createLogger(name, config.LOG_LEVEL);
    const registry = createRegistry(name, { ofProcess: overrides.neighbours === undefined });
    // Services of one process need no connections.
    const hasConnections = overrides.neighbours?.listen !== false;
    const made = {
      ...{ log, registry },
      certificate: hasConnections ? internalCertificate(config, log, registry) : undefined,
      tracer: await createTracer(name, config, log),
      signer: await Signer.create(config.ASSERTION_PRIVATE_KEY),
      verifier: await Verifier.create(config.ASSERTION_PUBLIC_KEYS),
    };
    return new Shell(name, config, made, overrides);
  }

  /** See {@link ServiceBase}. */
  get neighbour(): Neighbour | undefined {
    return this.neighbours?.find(this.name);
  }

  /** See {@link ServiceBase}. */
  get listens(): boolean {
    return this.neighbours?.listen ?? true;
  }

  /** Adds a part. It starts before, and stops after, all parts added later. */
  add(part: Part): void {
    this.#parts.push(part);
  }

  /** Adds a gRPC service this one serves beside its own. */
  serve(service: RpcService): void {
    this.#rpcs.push(service);
  }

  /** Makes the service ready only while `check` holds. `name` is its name in `/readyz`. */
  require(name: string, check: ReadyCheck): void {
    this.#ready[name] = check;
  }

  /**
   * Creates the client of another service, which closes with this one. It calls a neighbour directly, and connects to
   * one of another process at the first call.
   */
  peer<Stub extends RpcStub>(
    peer: ServiceName,
    addresses: readonly string[],
    stub: RpcOptions<Stub>['stub'],
    { passesObjects }: Pick<RpcOptions<Stub>, 'passesObjects'> = {},
  ): RpcClient<Stub> {
    this.#rpcDuration ??= rpcDuration(this.registry);
    const { signer, tracer, certificate } = this;
    const at = this.neighbours?.find(peer)?.rpcs ?? addresses;
    const made = new RpcClient<Stub>({
      peer,
      addresses: at,
      stub,
      signer,
      certificate,
      tracer,
      duration: this.#rpcDuration,
      passesObjects,
    });
    this.add({ stop: () => made.close() });
    return made;
  }

  /** Creates the meter for OpenTelemetry metrics; undefined if no endpoint is set. */
  async createMeter(): Promise<Meter | undefined> {
    const meter = await createMeter(this.name, this.config, this.log);
    this.add({ stop: () => meter?.stop() });
    return meter;
  }

  /** Creates the HTTP handler of a service behind the edge. Throws if its handlers differ from the route table. */
  createApp(definition: Pick<AppOptions, 'handlers' | 'rawHandlers' | 'idempotency'>): RequestListener {
    return createApp({
      ...definition,
      service: this.name,
      verifier: this.verifier,
      bodyBudget: this.bodyBudget,
      log: this.log,
      duration: this.httpDuration,
      tracer: this.tracer,
    });
  }

  /** Creates the service without starting it. `parts` start after those of the shell and before the servers. */
  createService(definition: ServiceDefinition & { parts: readonly Part[] }): Service {
    const rpcs = [...(definition.rpcs ?? []), ...this.#rpcs];
    const parts = [...this.#parts, ...definition.parts];
    return new Service(this, { ...definition, rpcs, parts, ready: this.#ready });
  }
}
