import {
  isTenantPrincipal,
  type Delegation,
  type Principal,
  type TenantPrincipal,
} from '@gatehouse/identity/principal';
import { assertionHeader, isDelegation, type Verifier } from '@gatehouse/identity/verifier';
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

/** The context of an RPC. */
export interface RpcContext {
  /** The calling service, verified by its token. */
  caller: string;
  /** The principal that the caller acts for, if it sent an assertion of the edge. */
  principal: Principal | null;
  /** The assertion or delegation itself, to be passed on. */
  assertion: string | null;
  /** What the caller has delegated to this service, if it sent that instead of an assertion. */
  delegation: Delegation | null;
  /** When the caller stops waiting, in milliseconds since the epoch; `Infinity` if never. */
  deadline: number;
  /** Aborted when the caller cancels the call or stops waiting. */
  signal: AbortSignal;
  requestId: string;
  trace: TraceContext;
  log: Logger;
}

/** The principal inside a tenant for which a call is made. Throws when there is none. */
export function tenantOf({ principal }: Pick<RpcContext, 'principal'>): TenantPrincipal {
  if (principal !== null && isTenantPrincipal(principal)) return principal;
  throw new AppError('service_unauthenticated', 'The call names no tenant.');
}

/**
 * The tenant and the acting user of a call about an agent, whether its caller acts for a principal or by delegation.
 * Throws if the delegation is for another agent.
 */
export function actorOf(
  context: Pick<RpcContext, 'principal' | 'delegation'>,
  agentId: string,
): { tenantId: string; actingUser: string | null } {
  const { delegation } = context;
  if (delegation === null) return tenantOf(context);
  if (delegation.agentId !== agentId)
    throw new AppError('caller_not_allowed', 'The delegation is for another agent.', { param: 'agent_id' });
  return delegation;
}

export interface Rpc<Request, Response> {
  /** Services that may call this RPC; any other gets PERMISSION_DENIED. */
  callers: readonly string[];
  /** Whether a caller may send a delegation instead of an assertion of the edge. */
  acceptsDelegation?: true;
  handle: (request: Request, context: RpcContext) => Promise<Response>;
}

/** One entry per method of a ts-proto service definition: a missing method does not compile. */
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
  /** Closes connections after this time (±10 %); calls in flight finish. */
  connectionAgeMs?: number;
  /** Interval at which all connections are closed gracefully while draining. */
  rotateMs?: number;
  tracer?: Tracer | undefined;
}

/** Calls with less time left are rejected, because the response could not arrive in time. */
const leastUsefulMs = 100;

/**
 * A client looks up the name of its peer only after it loses a connection. Without a maximum age, a new replica would
 * get no calls.
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
      // No grace period: calls have deadlines, and a call in flight is never cut because of the age of its connection.
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
    // The type of `rpcs` guarantees a handler for every method; grpc-js also requires an index signature.
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
   * Keeps accepting calls and connections, but asks clients every two seconds to reconnect, so that those that no
   * longer find this replica by DNS move to others before it closes.
   */
  drain(): void {
    const { host, drainTimeoutMs, rotateMs: everyMs = rotateMs } = this.#options;
    this.#rotation = setInterval(() => {
      this.#server.drain(`${host}:${this.#port}`, drainTimeoutMs);
    }, everyMs);
  }

  /** Accepts no new calls, and cuts calls that do not finish within the drain time. */
  async stop(): Promise<void> {
    clearInterval(this.#rotation);
    this.#health.setStatus('', 'NOT_SERVING');
    await new Promise<void>((resolve) => {
      const cut = setTimeout(() => {
        this.#server.forceShutdown();
        // Resolves here too, because `tryShutdown` waits for each peer to confirm, which a frozen peer never does.
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
        const context = await this.#contextOf(call, rpc, trace);
        rejectIfLate(context.deadline);
        callback(null, await rpc.handle(call.request, context));
        this.#options.log.debug({ ...fields, duration_ms: Math.round(monotonicMs() - startedAt) }, 'call');
      } catch (error) {
        logFailure(this.#options.log, fields, error);
        const answer = toStatus(error);
        code = answer.code;
        callback(answer);
      } finally {
        // Background work has no trace, so it gets no span.
        if (trace.parentSpanId !== null)
          this.#options.tracer?.record(callSpan({ context: trace, kind: 'server', path, code, startedAt }));
      }
    };
    return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) =>
      void answer(call, callback);
  }

  async #contextOf(
    call: ServerUnaryCall<unknown, unknown>,
    rpc: Rpc<unknown, unknown>,
    trace: TraceContext,
  ): Promise<RpcContext> {
    const { service, verifier, log } = this.#options;
    const { metadata } = call;
    const caller = await verifier
      .callerOf(text(metadata, callerTokenKey) ?? '', service)
      .catch((error: unknown) => {
        throw new AppError('service_unauthenticated', 'The call has no valid service token.', {
          cause: error,
        });
      });
    if (!rpc.callers.includes(caller))
      throw new AppError('caller_not_allowed', `The ${caller} service is not allowed to call this RPC.`);
    const assertion = text(metadata, assertionHeader);
    const actsFor = await this.#readAssertion(assertion, caller, rpc).catch((error: unknown) => {
      throw new AppError('service_unauthenticated', 'The call has no valid assertion.', { cause: error });
    });
    const requestId = text(metadata, requestIdKey) ?? '';
    return {
      caller,
      ...actsFor,
      assertion: assertion ?? null,
      deadline: Number(call.getDeadline()),
      signal: signalOf(call),
      requestId,
      trace,
      log: log.child({ request_id: requestId, trace_id: trace.traceId }),
    };
  }

  async #readAssertion(
    assertion: string | undefined,
    caller: string,
    { acceptsDelegation }: Rpc<unknown, unknown>,
  ): Promise<Pick<RpcContext, 'principal' | 'delegation'>> {
    const { service, verifier } = this.#options;
    if (assertion === undefined) return { principal: null, delegation: null };
    if (acceptsDelegation !== true || !isDelegation(assertion, service))
      return { principal: await verifier.principalOf(assertion, { anyAge: true }), delegation: null };
    return {
      principal: null,
      delegation: await verifier.delegationOf(assertion, { issuer: caller, service }),
    };
  }
}

function signalOf(call: ServerUnaryCall<unknown, unknown>): AbortSignal {
  const cancelled = new AbortController();
  const abort = (): void => cancelled.abort(new AppError('client_closed_request', 'The call was cancelled.'));
  call.once('cancelled', abort);
  if (call.cancelled) abort();
  return cancelled.signal;
}

function text(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : undefined;
}

function rejectIfLate(deadline: number): void {
  if (deadline - Date.now() < leastUsefulMs) {
    throw new AppError('service_timeout', 'The call arrived with too little time left.');
  }
}
