import type { Logger } from '@gatehouse/kit/log';
import { errorText } from '@gatehouse/kit/command';

/** What can run as a process. `stop` drains: it resolves when nothing is left open. */
export interface Runnable {
  readonly log: Logger;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Runs one service as this process: start, then stop once on SIGTERM, SIGINT or the end of a parent that supervises
 * us over IPC. A second signal ends the process at once.
 */
export async function run(create: () => Runnable | Promise<Runnable>): Promise<void> {
  const state: { service?: Runnable; stopping: boolean } = { stopping: false };
  // First of all: as a container's first process we have no default actions, and a signal would be lost.
  const stop = (reason: string): void => {
    if (state.stopping) process.exit(1);
    state.stopping = true;
    // Nothing is open before `start`.
    if (state.service === undefined) process.exit(0);
    const { log } = state.service;
    log.info({ reason }, 'stopping');
    void state.service.stop().then(
      () => exitFlushed(log, 0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        exitFlushed(log, 1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('disconnect', () => stop('supervisor gone'));
  let service: Runnable;
  try {
    service = await create();
    state.service = service;
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    // Not by itself: the channel to a supervisor would keep it.
    process.exit(1);
  }
  const { log } = service;
  const die = (error: unknown): void => {
    log.fatal({ err: error }, 'unexpected error, the process ends');
    exitFlushed(log, 1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
  try {
    await service.start();
    log.info('started');
  } catch (error) {
    // Told to stop while starting: that it did not start is what was asked for, and `stop` ends the process.
    if (state.stopping) return;
    log.fatal({ err: error }, 'could not start');
    exitFlushed(log, 1);
  }
}

function exitFlushed(log: Logger, code: number): void {
  log.flush(() => process.exit(code));
  // A log reader that went away must not keep the process.
  setTimeout(() => process.exit(code), 1_000).unref();
}
