import type { RequestListener } from 'node:http';
import { GrpcServer, type RpcService } from '@gatehouse/grpc/server';
import { HttpServer } from '@gatehouse/http/server';
import { unreadByEdge, unreadResponses } from '@gatehouse/http/unread-responses';
import type { Verifier } from '@gatehouse/identity/verifier';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import type { Tracer } from '@gatehouse/kit/tracing';
import { composeService, together, type Part, type ReadyCheck } from './compose.ts';
import type { Runnable } from './run.ts';
import type { ServiceConfig } from './settings.ts';

/** The parts of a shell that the servers of a service need. */
export interface ServiceBase {
  readonly name: string;
  readonly config: ServiceConfig;
  readonly log: Logger;
  readonly registry: Registry;
  readonly tracer: Tracer | undefined;
  readonly verifier: Verifier;
}

/** The interfaces that a service serves. */
export interface ServiceDefinition {
  handler: RequestListener;
  /** Absent if the service does not serve gRPC. */
  rpcs?: readonly RpcService[];
  /** Set for the service that clients reach directly; `cut` ends requests in flight after the drain time. */
  frontDoor?: { cut: () => void };
}

interface ServiceOptions extends ServiceDefinition {
  parts: readonly Part[];
  ready: Readonly<Record<string, ReadyCheck>>;
}

/** A service with its own ports for HTTP, gRPC and administration, which it opens when it starts. */
export class Service implements Runnable {
  readonly log: Logger;
  readonly handler: RequestListener;
  readonly rpcs: readonly RpcService[];
  readonly #http: HttpServer;
  readonly #grpc: GrpcServer | undefined;
  readonly #composed: ReturnType<typeof composeService>;

  constructor(made: ServiceBase, { handler, rpcs, frontDoor, parts, ready }: ServiceOptions) {
    const { log, registry, config } = made;
    this.log = log;
    this.handler = handler;
    this.rpcs = rpcs ?? [];
    const { HOST: host, HTTP_PORT: port, DRAIN_TIMEOUT_MS: drainTimeoutMs } = config;
    const unread = (frontDoor === undefined ? unreadByEdge : unreadResponses)(
      config.UNREAD_TIMEOUT_MS,
      log,
      registry,
    );
    this.#http = new HttpServer(handler, { host, port, drainTimeoutMs, unread, ...frontDoor });
    this.#grpc = rpcs === undefined ? undefined : grpcServer(made, rpcs);
    const servers = this.#grpc === undefined ? [this.#http] : [this.#grpc, this.#http];
    this.#composed = composeService({
      log,
      registry,
      config,
      ready,
      parts: [...parts, together(...servers), { start: () => this.#logPorts() }],
    });
  }

  start(): Promise<void> {
    return this.#composed.start();
  }

  /** Drains, then resolves when everything is closed. */
  stop(): Promise<void> {
    return this.#composed.stop();
  }

  /** The actual port, also if port 0 was configured; likewise below. */
  get httpPort(): number {
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
    this.log.info({ http_port: this.httpPort, grpc_port: this.#grpc?.port }, 'listening');
  }
}

function grpcServer(
  { name: service, config, verifier, log, tracer }: ServiceBase,
  rpcs: readonly RpcService[],
): GrpcServer {
  const { HOST: host, GRPC_PORT: port = 0, DRAIN_TIMEOUT_MS: drainTimeoutMs }: GrpcConfig = config;
  const server = new GrpcServer({ service, host, port, verifier, log, drainTimeoutMs, tracer });
  for (const { definition, rpcs: implemented } of rpcs) server.add(definition, implemented);
  return server;
}

type GrpcConfig = ServiceConfig & { readonly GRPC_PORT?: number };
