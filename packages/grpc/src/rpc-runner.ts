import { isDelegation, type Verifier } from '@gatehouse/identity/verifier';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { AppError } from '@gatehouse/kit/errors';
import { monotonicMs } from '@gatehouse/kit/clock';
import { logFailure, type Logger } from '@gatehouse/kit/log';
import { continueTrace, type TraceContext } from '@gatehouse/kit/trace-context';
import type { Tracer } from '@gatehouse/kit/tracing';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { callSpan } from './call-span.ts';
import type { CallFields } from './channel.ts';
import { toStatus, type FailedStatus } from './errors.ts';
import type { Rpc, RpcContext, RpcsOf } from './rpc.ts';

export interface RpcRunnerOptions {
  service: string;
  verifier: Verifier;
  log: Logger;
  tracer?: Tracer | undefined;
}

/** An RPC with its names. */
export interface NamedRpc {
  method: string;
  /** `/package.Service/Method`. */
  path: string;
  rpc: Rpc<unknown, unknown>;
}

/** The RPCs of a ts-proto service definition. */
export function namedRpcs<Definition extends ServiceDefinition>(
  definition: Definition,
  rpcs: RpcsOf<Definition>,
): NamedRpc[] {
  const entries = Object.entries(rpcs as Record<string, Rpc<unknown, unknown>>);
  return entries.map(([method, rpc]) => ({ method, path: definition[method]?.path ?? '', rpc }));
}

/** A call as it arrives, over a connection or inside the process. */
export interface ArrivedCall extends CallFields {
  request: unknown;
  /** Resolves with the verified name of the calling service. */
  caller: () => Promise<string> | string;
  /** As in {@link RpcContext}. Default: false. */
  isLocal?: boolean;
  /** As in {@link RpcContext}. */
  signal: AbortSignal;
}

export type Outcome = { response: unknown } | { failed: FailedStatus };

/** Calls with less time left are rejected, because the response could not arrive in time. */
const leastUsefulMs = 100;

/** Runs the RPCs of a service, however a call arrives: who may call, deadline, log line and span. */
export class RpcRunner {
  readonly #options: RpcRunnerOptions;

  constructor(options: RpcRunnerOptions) {
    this.#options = options;
  }

  /** Doesn't throw: a failure is part of the outcome. */
  async run({ method, path, rpc }: NamedRpc, call: ArrivedCall): Promise<Outcome> {
    const { log, tracer } = this.#options;
    const startedAt = monotonicMs();
    const trace = continueTrace(call.traceparent);
    const fields = { rpc: method, request_id: call.requestId, trace_id: trace.traceId };
    let outcome: Outcome;
    try {
      const context = await this.#contextOf(call, rpc, trace);
      rejectIfLate(context.deadline);
      outcome = { response: await rpc.handle(call.request, context) };
      log.debug({ ...fields, duration_ms: Math.round(monotonicMs() - startedAt) }, 'call');
    } catch (error) {
      logFailure(log, fields, error);
      outcome = { failed: toStatus(error) };
    }
    // Background work has no trace, so it gets no span.
    if (trace.parentSpanId !== null) {
      const code = 'failed' in outcome ? outcome.failed.code : undefined;
      tracer?.record(callSpan({ context: trace, kind: 'server', path, code, startedAt }));
    }
    return outcome;
  }

  async #contextOf(call: ArrivedCall, rpc: Rpc<unknown, unknown>, trace: TraceContext): Promise<RpcContext> {
    const caller = await call.caller();
    if (!rpc.callers.includes(caller))
      throw new AppError('caller_not_allowed', `The ${caller} service is not allowed to call this RPC.`);
    const { assertion, deadline, signal, requestId = '' } = call;
    const actsFor = await this.#readAssertion(assertion, caller, rpc).catch((error: unknown) => {
      throw new AppError('service_unauthenticated', 'The call has no valid assertion.', { cause: error });
    });
    return {
      caller,
      isLocal: call.isLocal === true,
      ...actsFor,
      assertion: assertion ?? null,
      ...{ deadline, signal, requestId, trace },
      log: this.#options.log.child({ request_id: requestId, trace_id: trace.traceId }),
    };
  }

  async #readAssertion(
    assertion: Assertion | undefined,
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

function rejectIfLate(deadline: number): void {
  if (deadline - Date.now() < leastUsefulMs) {
    throw new AppError('service_timeout', 'The call arrived with too little time left.');
  }
}
