import type { RequestListener } from 'node:http';
import { services, type ServiceName } from '@gatehouse/contract/services';
import type { RpcService } from '@gatehouse/grpc/rpc';
import { GrpcServer } from '@gatehouse/grpc/server';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge, unreadResponses } from '@gatehouse/http/unread-responses';
import type { Verifier } from '@gatehouse/identity/verifier';
import type { CertificateFiles } from '@gatehouse/kit/certificate-files';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import { composeService, together, type Part } from './compose.ts';
import { observeReadiness, type ReadyCheck } from './readiness.ts';
import type { Neighbour } from './neighbours.ts';
import type { Runnable } from './run.ts';
import type { ServiceConfig } from './settings.ts';

/** The parts of a shell the servers of a service need. */
export interface ServiceBase {
  readonly name: ServiceName;
  readonly config: ServiceConfig;
  readonly log: Logger;
  readonly registry: Registry;
  readonly tracer: Tracer | undefined;
  readonly verifier: Verifier;
  /** How other services of the process reach it; undefined if it is alone. */
  readonly neighbour: Neighbour | undefined;
  /** Whether it opens ports for the edge and for its peers. */
  readonly listens: boolean;
  /** The certificate for connections between services; undefined without TLS between them. */
  readonly certificate: CertificateFiles | undefined;
}

/** The interfaces a service serves. */
export interface ServiceDefinition {
  handler: RequestListener;
  /** Absent if the service does not serve gRPC. */
  rpcs?: readonly RpcService[];
  /** Set for the service clients reach directly; `cut` ends requests in flight after the drain time. */
  frontDoor?: FrontDoor;
}

export interface FrontDoor {
  cut: () => void;
  /** If unset, clients connect without TLS. */
  certificate?: CertificateFiles | undefined;
}

interface ServiceOptions extends ServiceDefinition {
  parts: readonly Part[];
  ready: Readonly<Record<string, ReadyCheck>>;
}

/**
 * A service: what it serves, apart from where it is reached. As a process of its own it opens ports for HTTP, gRPC and
 * administration when it starts; beside neighbours, `parts` are started with theirs.
 */
export class Service implements Runnable {
  readonly name: ServiceName;
  readonly log: Logger;
  readonly handler: RequestListener;
  readonly rpcs: readonly RpcService[];
  readonly registry: Registry;
  /** Whether clients reach it directly. */
  readonly isFrontDoor: boolean;
  /** All of its parts in the order of their start, its servers last. */
  readonly parts: readonly Part[];
  readonly ready: Readonly<Record<string, ReadyCheck>>;
  readonly #http: HttpServer | undefined;
  readonly #grpc: GrpcServer | undefined;
  readonly #composed: ReturnType<typeof composeService>;

  constructor(made: ServiceBase, { handler, rpcs, frontDoor, parts, ready }: ServiceOptions) {
    const { name, log, registry, config, neighbour, listens } = made;
    this.name = name;
    this.log = log;
    this.handler = handler;
    this.rpcs = rpcs ?? [];
    this.registry = registry;
    this.ready = ready;
    this.isFrontDoor = frontDoor !== undefined;
    if (listens || frontDoor !== undefined) this.#http = httpServer(made, handler, frontDoor);
    if (listens && rpcs !== undefined) this.#grpc = grpcServer(made, rpcs);
    const servers = [this.#grpc, this.#http].filter((server) => server !== undefined);
    this.parts = [
      ...parts,
      ...(neighbour === undefined ? [] : [besideNeighbours(made, neighbour, { handler, rpcs: this.rpcs })]),
      together(...servers),
      ...(servers.length > 0 ? [{ start: () => this.#logPorts() }] : []),
    ];
    observeReadiness(registry, ready);
    this.#composed = composeService({ log, metrics: [registry], config, ready, parts: this.parts });
  }

  start(): Promise<void> {
    return this.#composed.start();
  }

  /** Drains, then resolves when everything is closed. */
  stop(): Promise<void> {
    return this.#composed.stop();
  }

  /** The actual port, also if port 0 was configured; likewise below. Throws if the service does not listen. */
  get httpPort(): number {
    if (this.#http === undefined) throw new Error('the service does not listen');
    return this.#http.port;
  }

  /** Throws if the service does not serve gRPC. */
  get grpcPort(): number {
    if (this.#grpc === undefined) throw new Error('the service does not serve gRPC');
    return this.#grpc.port;
  }

  get adminPort(): number {
    return this.#composed.adminPort;
  }

  #logPorts(): void {
    this.log.info({ http_port: this.#http?.port, grpc_port: this.#grpc?.port }, 'listening');
  }
}

/** The services that call others over HTTP. */
const httpClients = services.filter((service) => service.public).map(({ name }) => name);

function httpServer(
  { config, log, registry, certificate }: ServiceBase,
  handler: RequestListener,
  frontDoor: ServiceDefinition['frontDoor'],
): HttpServer {
  const { HOST: host, HTTP_PORT: port, DRAIN_TIMEOUT_MS: drainTimeoutMs } = config;
  const unread = (frontDoor === undefined ? unreadByEdge : unreadResponses)(
    config.UNREAD_TIMEOUT_MS,
    log,
    registry,
  );
  const access = frontDoor ?? { certificate, clients: httpClients };
  return new HttpServer(handler, { host, port, drainTimeoutMs, unread, ...access });
}

function grpcServer(
  { name: service, config, verifier, log, tracer, certificate }: ServiceBase,
  rpcs: readonly RpcService[],
): GrpcServer {
  const { HOST: host, GRPC_PORT: port = 0, DRAIN_TIMEOUT_MS: drainTimeoutMs }: GrpcConfig = config;
  const server = new GrpcServer({
    ...{ service, host, port, verifier, log, drainTimeoutMs, tracer, certificate },
  });
  for (const { definition, rpcs: implemented } of rpcs) server.add(definition, implemented);
  return server;
}

/** Lets the other services of the process in. The edge, which hands requests over, has stopped before. */
function besideNeighbours(
  { name: service, config, verifier, log, tracer }: ServiceBase,
  neighbour: Neighbour,
  { handler, rpcs }: { handler: RequestListener; rpcs: readonly RpcService[] },
): Part {
  // Edge and neighbours go on as usual for the delay.
  const drainTimeoutMs = config.DRAIN_DELAY_MS + config.DRAIN_TIMEOUT_MS;
  return {
    start() {
      neighbour.rpcs.start(rpcs, { service, verifier, log, tracer, drainTimeoutMs });
      neighbour.handler = handler;
    },
    drain: () => neighbour.rpcs.drain(),
    stop() {
      neighbour.handler = null;
      return neighbour.rpcs.stop();
    },
  };
}

type GrpcConfig = ServiceConfig & { readonly GRPC_PORT?: number };
