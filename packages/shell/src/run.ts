import { setFlagsFromString } from 'node:v8';
import { errorText } from '@gatehouse/kit/command';
import type { Logger } from '@gatehouse/kit/log';
import { returnMemoryWhenIdle } from './idle-memory.ts';

/**
 * Growth of the heap, in percent of the live data, before V8 collects all of it. By default V8 changes it with the
 * load, and collects several times within seconds when the load falls, which holds up requests for up to 100 ms each
 * time if the process has one core ([ADR 38](../../../docs/adr/0038-services-in-one-process.md)).
 */
const heapGrowthPercent = 150;

/** A program to run as a process. `stop` drains and resolves when everything is closed. */
export interface Runnable {
  readonly log: Logger;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Runs one service as this process. Stops it on SIGTERM, on SIGINT, or when the IPC channel to a supervising parent
 * closes. A second signal ends the process at once.
 */
export async function run(create: () => Runnable | Promise<Runnable>): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  const state: { service?: Runnable; stopping: boolean } = { stopping: false };
  // Registered first: process 1 of a container has no default signal actions, so an earlier signal would be lost.
  const stop = (reason: string): void => {
    if (state.stopping) process.exit(1);
    state.stopping = true;
    // Nothing is open yet.
    if (state.service === undefined) process.exit(0);
    const { log } = state.service;
    log.info({ reason }, 'stopping');
    void state.service.stop().then(
      () => exitFlushed(log, 0),
      (error: unknown) => {
        log.error({ err: error }, 'failed to stop');
        exitFlushed(log, 1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('disconnect', () => stop('supervisor exited'));
  let service: Runnable;
  try {
    service = await create();
    state.service = service;
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    // Explicit, because the IPC channel to a supervisor keeps the process alive.
    process.exit(1);
  }
  const { log } = service;
  const die = (error: unknown): void => {
    log.fatal({ err: error }, 'unexpected error; exiting');
    exitFlushed(log, 1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
  try {
    await service.start();
    returnMemoryWhenIdle();
    log.info('started');
  } catch (error) {
    // The service was stopped during its start, so the failed start is expected, and `stop` ends the process.
    if (state.stopping) return;
    log.fatal({ err: error }, 'failed to start');
    exitFlushed(log, 1);
  }
}

function exitFlushed(log: Logger, code: number): void {
  log.flush(() => process.exit(code));
  // A closed log reader must not keep the process alive.
  setTimeout(() => process.exit(code), 1_000).unref();
}
