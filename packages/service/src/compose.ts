import { sleep } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { AdminServer } from './admin-server.ts';
import type { Runnable } from './run.ts';

/** Something with a beginning and an end: a pool, a loop, a server. */
export interface Part {
  start?: () => Promise<void> | void;
  /** Called when stopping begins, `DRAIN_DELAY_MS` before any `stop`: a server lets its clients go, and serves on. */
  drain?: () => void;
  stop?: () => Promise<void> | void;
}

/** Whether something that a service needs is there now. A rejection counts as no. */
export type ReadyCheck = () => Promise<boolean> | boolean;

export interface ComposeOptions {
  log: Logger;
  registry: Registry;
  config: { HOST: string; ADMIN_PORT: number; DRAIN_DELAY_MS: number; DRAIN_TIMEOUT_MS: number };
  /** Started in this order and stopped in reverse, so list servers last: they close first. */
  parts: readonly Part[];
  /** What the started service needs to do its work, by the name that `/readyz` calls it (`database`, a peer). */
  ready?: Readonly<Record<string, ReadyCheck>>;
}

/**
 * What all parts together may take to stop beyond `DRAIN_TIMEOUT_MS`: last writes, flushing, closing. A platform should
 * give 15 s, after which it kills.
 */
const closingMs = 10_000;

/** Parts that start in order and stop at the same time: servers, so that one drain time is enough for all. */
export function together(...parts: readonly Part[]): Part {
  return {
    async start() {
      for (const part of parts) await part.start?.();
    },
    drain: () => parts.forEach((part) => part.drain?.()),
    async stop() {
      // In reverse all the same: an HTTP server closes idle connections at once, and must have read what just came.
      const stopped = await Promise.allSettled([...parts].reverse().map(async (part) => part.stop?.()));
      for (const result of stopped) if (result.status === 'rejected') throw result.reason as Error;
    },
  };
}

/**
 * A service made of parts, with its admin port. Stopping: not ready, wait for balancers to notice, then part by part;
 * one that was not ready yet is known to no balancer, and stops at once. Parts that hang are left behind in the end.
 */
export function composeService(options: ComposeOptions): Runnable & { readonly adminPort: number } {
  const { config, log, parts } = options;
  let serving = false;
  let stopping = false;
  const admin = new AdminServer({
    host: config.HOST,
    port: config.ADMIN_PORT,
    registry: options.registry,
    missing: async () => (serving ? missingOf(options.ready ?? {}) : [stopping ? 'stopping' : 'starting']),
  });
  const started: Part[] = [];
  /** Stops all of them, whatever one throws or waits for, and gives back the first error. */
  async function stopParts(): Promise<Error | undefined> {
    let failure: Error | undefined;
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    const timer = setTimeout(
      () => late.reject(new Error('parts took too long to stop, and were left behind')),
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
          if (stopping) throw new Error('stopped while starting');
          started.push(part);
          await part.start?.();
        }
      } catch (error) {
        const failure = await stopParts();
        if (failure !== undefined) log.warn({ err: failure }, 'stopping failed after a failed start');
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

/** All are asked at once, also when one is missing: asking is what makes a peer's connection. */
async function missingOf(checks: Readonly<Record<string, ReadyCheck>>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const there = await Promise.resolve()
        .then(check)
        .catch(() => false);
      return there ? [] : [name];
    }),
  );
  return answers.flat();
}
