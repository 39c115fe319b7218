import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { OpenList } from '@gatehouse/kit/open-list';
import { status, Metadata, type ServiceDefinition } from '@grpc/grpc-js';
import type { CallFields } from './channel.ts';
import { toStatus, type FailedStatus } from './errors.ts';
import { maxRequestBytes, maxResponseBytes } from './metadata.ts';
import type { RpcService } from './rpc.ts';
import { namedRpcs, RpcRunner, type NamedRpc, type RpcRunnerOptions } from './rpc-runner.ts';

export interface LocalServerOptions extends RpcRunnerOptions {
  /** How long calls in flight may take to finish after `drain`, or after `stop` without one. */
  drainTimeoutMs: number;
}

/** A call by a service of the same process. A serialized request shares no object with its caller. */
export interface LocalCall extends CallFields {
  caller: string;
  request: Buffer | object;
  signal: AbortSignal | undefined;
}

export type LocalOutcome = { response: Buffer } | { failed: FailedStatus };

interface Served extends NamedRpc {
  codec: Pick<ServiceDefinition[string], 'requestDeserialize' | 'responseSerialize'>;
  runner: RpcRunner;
}

/**
 * The RPCs of a service for the other services of its process. Like a gRPC server it checks callers, deadlines and
 * sizes, and hands over copies, but for requests that their caller passes as objects. It exists before its service, and answers from `start` to `stop`.
 */
export class LocalServer {
  readonly #served = new Map<string, Served>();
  /** Functions to end the calls with running handlers. */
  readonly #inFlight = new OpenList<() => void>();
  #drainTimeoutMs = 0;
  #drainedAt: number | undefined;
  #isServing = false;
  #whenIdle: (() => void) | undefined;

  /** Begins to serve these RPCs. */
  start(services: readonly RpcService[], { drainTimeoutMs, ...options }: LocalServerOptions): void {
    const runner = new RpcRunner(options);
    this.#drainTimeoutMs = drainTimeoutMs;
    this.#served.clear();
    for (const { definition, rpcs } of services)
      for (const named of namedRpcs(definition, rpcs)) {
        const codec = definition[named.method];
        if (codec !== undefined) this.#served.set(named.path, { ...named, codec, runner });
      }
    this.#drainedAt = undefined;
    this.#isServing = true;
  }

  get isServing(): boolean {
    return this.#isServing;
  }

  /** The stop of the process begins: the drain time is for all of its services together. */
  drain(): void {
    this.#drainedAt ??= monotonicMs();
  }

  /** Accepts no new calls, and ends calls still unfinished after the drain time. */
  async stop(): Promise<void> {
    this.drain();
    this.#isServing = false;
    if (this.#inFlight.isEmpty) return;
    const idle = new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
    const leftMs = this.#drainTimeoutMs - (monotonicMs() - (this.#drainedAt ?? 0));
    const cut = setTimeout(
      () => {
        for (const end of this.#inFlight) end();
        this.#whenIdle?.();
      },
      Math.max(0, leftMs),
    );
    await idle;
    clearTimeout(cut);
  }

  /** Runs an RPC by its path. Doesn't throw. Resolves at the deadline, or when the caller cancels, at the latest. */
  async call(path: string, call: LocalCall): Promise<LocalOutcome> {
    const served = this.#served.get(path);
    if (!this.#isServing || served === undefined)
      return failed(status.UNAVAILABLE, 'the service does not run');
    if (Buffer.isBuffer(call.request) && call.request.length > maxRequestBytes)
      return failed(status.RESOURCE_EXHAUSTED, 'the request is too large');
    const { signal, deadline } = call;
    const cancelled = new AbortController();
    const early = Promise.withResolvers<LocalOutcome>();
    const end = (code: status, details: string): void => {
      early.resolve(failed(code, details));
      cancelled.abort(new AppError('client_closed_request', 'The call was cancelled.'));
    };
    const onAbort = (): void => end(status.CANCELLED, 'the caller has cancelled the call');
    const onDeadline = (): void => end(status.DEADLINE_EXCEEDED, 'the deadline has passed');
    const timer = setTimeout(onDeadline, Math.max(0, deadline - Date.now()));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const stop = (): void => end(status.UNAVAILABLE, 'the service has stopped');
      return await Promise.race([
        this.#run(served, { ...call, signal: cancelled.signal }, stop),
        early.promise,
      ]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #run(
    served: Served,
    call: LocalCall & { signal: AbortSignal },
    stop: () => void,
  ): Promise<LocalOutcome> {
    const { requestDeserialize, responseSerialize } = served.codec;
    const leave = this.#inFlight.add(stop);
    try {
      const outcome = await served.runner.run(served, {
        ...call,
        caller: () => call.caller,
        isLocal: true,
        request: Buffer.isBuffer(call.request) ? (requestDeserialize(call.request) as unknown) : call.request,
      });
      if ('failed' in outcome) return outcome;
      const response = responseSerialize(outcome.response);
      if (response.length <= maxResponseBytes) return { response };
      return failed(status.RESOURCE_EXHAUSTED, 'the response is too large');
    } catch (error) {
      return { failed: toStatus(error) };
    } finally {
      leave();
      if (this.#inFlight.isEmpty) this.#whenIdle?.();
    }
  }
}

function failed(code: status, details: string): { failed: FailedStatus } {
  return { failed: { code, details, metadata: new Metadata() } };
}
