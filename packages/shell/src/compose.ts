import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { AdminServer } from './admin-server.ts';
import { missingOf, type ReadyCheck } from './readiness.ts';
import type { Runnable } from './run.ts';

/** A part of a service with a start and a stop: a pool, a loop, a server. */
export interface Part {
  start?: () => Promise<void> | void;
  /**
   * Called when the stop begins, `DRAIN_DELAY_MS` before the first `stop`. A server then asks clients to leave but
   * keeps serving.
   */
  drain?: () => void;
  stop?: () => Promise<void> | void;
}

export interface ComposeOptions {
  log: Logger;
  /** The metrics at `/metrics`. */
  metrics: readonly Registry[];
  config: {
    HOST: string;
    ADMIN_HOST?: string | undefined;
    ADMIN_PORT: number;
    DRAIN_DELAY_MS: number;
    DRAIN_TIMEOUT_MS: number;
  };
  /** Started in this order and stopped in reverse, so list servers last: they close first. */
  parts: readonly Part[];
  /** Checks of everything the service needs to work, by the name in `/readyz` (`database`, a peer). */
  ready?: Readonly<Record<string, ReadyCheck>>;
  /** Replaces the closing time of one service. */
  closingMs?: number;
}

/**
 * Time for all parts together to stop beyond `DRAIN_TIMEOUT_MS`, for last writes and closing. The termination grace
 * period of the platform should be five seconds longer than both.
 */
const defaultClosingMs = 10_000;

/** Combines parts. They start in order and stop at the same time, like servers, to share one drain time. */
export function together(...parts: readonly Part[]): Part {
  return {
    async start() {
      for (const part of parts) await part.start?.();
    },
    drain: () => parts.forEach((part) => part.drain?.()),
    async stop() {
      // In reverse order, as all parts.
      const stopped = await Promise.allSettled([...parts].reverse().map(async (part) => part.stop?.()));
      for (const result of stopped) if (result.status === 'rejected') throw result.reason as Error;
    },
  };
}

/**
 * Builds a service from parts and adds its admin port. A stop reports not ready, waits `DRAIN_DELAY_MS` for load
 * balancers, then stops part by part. If the service was never ready, no load balancer sends requests to it, and it
 * stops without waiting. Hanging parts are abandoned.
 */
export function composeService(options: ComposeOptions): Runnable & { readonly adminPort: number } {
  const { config, log, parts, closingMs = defaultClosingMs } = options;
  let serving = false;
  let stopping = false;
  const admin = new AdminServer({
    host: config.ADMIN_HOST ?? config.HOST,
    port: config.ADMIN_PORT,
    metrics: options.metrics,
    missing: async () => (serving ? missingOf(options.ready ?? {}) : [stopping ? 'stopping' : 'starting']),
  });
  const started: Part[] = [];
  /** Stops all parts, even if some fail or hang, and returns the first error. */
  async function stopParts(): Promise<Error | undefined> {
    let failure: Error | undefined;
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    const timer = setTimeout(
      () => late.reject(new Error('parts took too long to stop and were abandoned')),
      config.DRAIN_TIMEOUT_MS + closingMs,
    );
    for (const part of [{ stop: () => admin.stop() }, ...started.splice(0)].reverse()) {
      try {
        await Promise.race([part.stop?.(), late.promise]);
      } catch (error) {
        failure ??= error instanceof Error ? error : new Error(String(error), { cause: error });
      }
    }
    clearTimeout(timer);
    return failure;
  }
  return {
    log,
    get adminPort() {
      return admin.port;
    },
    async start() {
      await admin.start();
      try {
        for (const part of parts) {
          if (stopping) throw new Error('stopped during start');
          started.push(part);
          await part.start?.();
        }
      } catch (error) {
        const failure = await stopParts();
        if (failure !== undefined) log.warn({ err: failure }, 'failed to stop after a failed start');
        throw error;
      }
      serving = true;
    },
    async stop() {
      stopping = true;
      if (serving) {
        serving = false;
        for (const part of started) part.drain?.();
        await sleep(config.DRAIN_DELAY_MS);
      }
      const failure = await stopParts();
      if (failure !== undefined) throw failure;
    },
  };
}
