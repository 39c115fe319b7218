import { isTenantPrincipal, type Principal, type TenantPrincipal } from '@gatehouse/identity/principal';
import { assertionHeader, type Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import { continueTrace, type TraceContext } from '@gatehouse/kit/trace-context';
import type { Tracer } from '@gatehouse/kit/tracing';
import type { Metadata } from '@grpc/grpc-js';
import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  type status,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { callSpan } from './call-span.ts';
import { toStatus } from './errors.ts';
import { callerTokenKey, requestIdKey, traceparentKey } from './metadata.ts';

/** What an RPC knows about its call. */
export interface RpcContext {
  /** The calling service, proved by its token. */
  caller: string;
  /** For whom the caller acts, if it said so. */
  principal: Principal | null;
  requestId: string;
  trace: TraceContext;
  log: Logger;
}

/** The principal inside a tenant for which a call is made. Throws when there is none. */
export function tenantOf({ principal }: Pick<RpcContext, 'principal'>): TenantPrincipal {
  if (principal !== null && isTenantPrincipal(principal)) return principal;
  throw new AppError('service_unauthenticated', 'The call names no tenant.');
}

export interface Rpc<Request, Response> {
  /** Services that may call it; any other gets PERMISSION_DENIED. */
  callers: readonly string[];
  handle: (request: Request, context: RpcContext) => Promise<Response>;
}

/** One entry per method of a ts-proto service definition: a method without one does not compile. */
export type RpcsOf<Definition> = {
  [Method in keyof Definition]: Definition[Method] extends {
    requestDeserialize: (bytes: Buffer) => infer Request;
    responseSerialize: (response: infer Response) => Buffer;
  }
    ? Rpc<Request, Response>
    : never;
};

/** A service of a `.proto` file and what implements it. */
export interface RpcService {
  definition: ServiceDefinition;
  rpcs: RpcsOf<ServiceDefinition>;
}

/** Pairs a ts-proto definition with its implementation: one {@link Rpc} per method. */
export function rpcService<Definition extends ServiceDefinition>(
  definition: Definition,
  rpcs: RpcsOf<Definition>,
): RpcService {
  return { definition, rpcs };
}

export interface GrpcServerOptions {
  service: string;
  host: string;
  port: number;
  verifier: Verifier;
  log: Logger;
  drainTimeoutMs: number;
  /** A connection older than this (10 % more or less) is given up; calls in flight on it finish. */
  connectionAgeMs?: number;
  /** While draining, all connections are given up this often. */
  rotateMs?: number;
  tracer?: Tracer | undefined;
}

/** Calls arriving with less time left than this are refused: the answer could not arrive in time. */
const leastUsefulMs = 100;

/**
 * A client looks its peer's name up again when it loses a connection, and only then: without an end of their own,
 * connections would keep a replica that is new without calls for ever.
 */
const connectionAgeMs = 30_000;
const rotateMs = 2_000;

export class GrpcServer {
  readonly #server: Server;
  readonly #health = new HealthImplementation({ '': 'NOT_SERVING' });
  readonly #options: GrpcServerOptions;
  #port = 0;
  #rotation: NodeJS.Timeout | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': 8 * 1024 * 1024,
      // No grace period: calls have deadlines, and one that was begun is never cut for its connection's age.
      'grpc.max_connection_age_ms': options.connectionAgeMs ?? connectionAgeMs,
    });
    this.#health.addToServer(this.#server);
  }

  /** Adds a service: its ts-proto definition and one {@link Rpc} per method. */
  add<Definition extends ServiceDefinition>(definition: Definition, rpcs: RpcsOf<Definition>): this {
    const handlers = Object.entries<Rpc<unknown, unknown>>(rpcs as Record<string, Rpc<unknown, unknown>>).map(
      ([method, rpc]): [string, UntypedHandleCall] => [
        method,
        this.#unary(method, definition[method]?.path ?? '', rpc),
      ],
    );
    // Every method has its handler by the type of `rpcs`; grpc-js wants an index signature on top.
    this.#server.addService(definition, Object.fromEntries(handlers));
    return this;
  }

  async start(): Promise<void> {
    const { host, port } = this.#options;
    this.#port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    this.#health.setStatus('', 'SERVING');
  }

  get port(): number {
    return this.#port;
  }

  /**
   * Calls and connections are taken as before, but every two seconds clients are asked to connect anew: those that
   * no longer find this replica under the name of the service go elsewhere before it closes.
   */
  drain(): void {
    const { host, drainTimeoutMs, rotateMs: everyMs = rotateMs } = this.#options;
    this.#rotation = setInterval(() => {
      this.#server.drain(`${host}:${this.#port}`, drainTimeoutMs);
    }, everyMs);
  }

  /** Takes nothing new, and cuts calls that are not finished within the drain time. */
  async stop(): Promise<void> {
    clearInterval(this.#rotation);
    this.#health.setStatus('', 'NOT_SERVING');
    await new Promise<void>((resolve) => {
      const cut = setTimeout(() => {
        this.#server.forceShutdown();
        // A frozen peer never confirms that its connection is closed, and the callback below waits for that.
        resolve();
      }, this.#options.drainTimeoutMs);
      this.#server.tryShutdown(() => {
        clearTimeout(cut);
        resolve();
      });
    });
  }

  #unary(method: string, path: string, rpc: Rpc<unknown, unknown>): UntypedHandleCall {
    const answer = async (
      call: ServerUnaryCall<unknown, unknown>,
      callback: sendUnaryData<unknown>,
    ): Promise<void> => {
      const startedAt = monotonicMs();
      const trace = continueTrace(text(call.metadata, traceparentKey));
      const fields = { rpc: method, request_id: text(call.metadata, requestIdKey), trace_id: trace.traceId };
      let code: status | undefined;
      try {
        const context = await this.#contextOf(call.metadata, rpc.callers, trace);
        refuseIfLate(call.getDeadline());
        callback(null, await rpc.handle(call.request, context));
        this.#options.log.debug({ ...fields, duration_ms: Math.round(monotonicMs() - startedAt) }, 'call');
      } catch (error) {
        logFailure(this.#options.log, fields, error);
        const answer = toStatus(error);
        code = answer.code;
        callback(answer);
      } finally {
        // Work in the background belongs to no trace, and gets no span.
        if (trace.parentSpanId !== null)
          this.#options.tracer?.record(callSpan({ context: trace, kind: 'server', path, code, startedAt }));
      }
    };
    return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) =>
      void answer(call, callback);
  }

  async #contextOf(metadata: Metadata, callers: readonly string[], trace: TraceContext): Promise<RpcContext> {
    const { service, verifier, log } = this.#options;
    const caller = await verifier
      .callerOf(text(metadata, callerTokenKey) ?? '', service)
      .catch((error: unknown) => {
        throw new AppError('service_unauthenticated', 'The call carries no valid service token.', {
          cause: error,
        });
      });
    if (!callers.includes(caller))
      throw new AppError('caller_not_allowed', `The ${caller} service may not call this.`);
    const assertion = text(metadata, assertionHeader);
    const principal =
      assertion === undefined
        ? null
        : await verifier.principalOf(assertion, { anyAge: true }).catch((error: unknown) => {
            throw new AppError('service_unauthenticated', 'The call carries no valid assertion.', {
              cause: error,
            });
          });
    const requestId = text(metadata, requestIdKey) ?? '';
    return {
      caller,
      principal,
      requestId,
      trace,
      log: log.child({ request_id: requestId, trace_id: trace.traceId }),
    };
  }
}

function text(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : undefined;
}

function refuseIfLate(deadline: Date | number): void {
  if (deadline === Infinity) return;
  if (Number(deadline) - Date.now() < leastUsefulMs) {
    throw new AppError('service_timeout', 'The call arrived with too little time left.');
  }
}
