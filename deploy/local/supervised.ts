import { setTimeout as sleep } from 'node:timers/promises';
import type { LogStream } from './log-stream.ts';
import type { RunningProcess } from './running-process.ts';
import { StartError } from './start-error.ts';

export interface SupervisedOptions {
  /** The display name: `chat-2`. */
  name: string;
  /** Its ports by purpose, which stay the same over restarts. */
  ports: Readonly<Record<string, number>>;
  launch: () => Promise<RunningProcess> | RunningProcess;
  /** Whether the launched process is ready. */
  isReady: () => Promise<boolean>;
  log: LogStream;
  /** Called when the process id changes. */
  onChange: () => void;
  /** Whether it is started again when it ends by itself, or only by `restart`. Default true. */
  restartOnExit?: boolean;
}

const firstDelayMs = 500;
const longestDelayMs = 5_000;
/** After this uptime, the restart delay is reset to the shortest. */
const steadyAfterMs = 10_000;
const readyTimeoutMs = 60_000;
const readyPollMs = 50;
/** The longest delay of a timer, 24 days. */
const untilRestartMs = 2 ** 31 - 1;

/** Keeps one process running: restarts it on the same ports when it exits. */
export class Supervised {
  readonly name: string;
  readonly ports: Readonly<Record<string, number>>;
  readonly #options: SupervisedOptions;
  readonly #stopping = new AbortController();
  #running: RunningProcess | undefined;
  #starting: Promise<void> = Promise.resolve();
  #watching: Promise<void> = Promise.resolve();
  /** A requested restart, not begun yet. */
  #requested: PromiseWithResolvers<boolean> | undefined;
  /** Ends the pause before the next start. */
  #hurry = new AbortController();

  constructor(options: SupervisedOptions) {
    this.name = options.name;
    this.ports = options.ports;
    this.#options = options;
  }

  /** Undefined while the process is down. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  /**
   * Launches the process and waits until it is ready. Throws when it exits earlier, because a restart would fail too.
   */
  async start(): Promise<void> {
    this.#starting = this.#start();
    await this.#starting;
  }

  /**
   * Stops the process and starts it again at once. Resolves to true when the new process is ready, and to false when it
   * ended first.
   */
  async restart(): Promise<boolean> {
    this.#requested ??= Promise.withResolvers();
    const { promise } = this.#requested;
    this.#hurry.abort();
    await this.#running?.stop();
    return promise;
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running?.stop();
    // A launch may still be in progress.
    await this.#starting.catch(() => undefined);
    await this.#watching;
    this.#set(undefined);
  }

  /** Kills the process without restarting it. */
  kill(): void {
    this.#stopping.abort();
    this.#running?.kill();
  }

  async #start(): Promise<void> {
    const running = await this.#launch();
    // `ended` comes first in the race, because the exit is the better explanation.
    const outcome = await Promise.race([running.ended, this.#ready(running)]);
    if (this.#stopping.signal.aborted) return;
    if (typeof outcome === 'string')
      throw new StartError(`${this.name} failed to start: it ${outcome}; see its log above.`);
    if (!outcome)
      throw new StartError(
        `${this.name} was not ready after ${readyTimeoutMs / 1_000} s; see its log above.`,
      );
    this.#watching = this.#watch(running);
  }

  async #watch(first: RunningProcess): Promise<void> {
    let delayMs = firstDelayMs;
    let startedAt = performance.now();
    for (let ended = await first.ended; !this.#stopping.signal.aborted;) {
      this.#set(undefined);
      if (performance.now() - startedAt > steadyAfterMs) delayMs = firstDelayMs;
      await this.#beforeNext(ended, delayMs);
      delayMs = Math.min(delayMs * 2, longestDelayMs);
      startedAt = performance.now();
      ended = await this.#runAgain();
    }
    this.#requested?.resolve(false);
  }

  /** Waits after an unrequested end: for the delay, or for `restart`. */
  async #beforeNext(ended: string, delayMs: number): Promise<void> {
    if (this.#requested !== undefined) return;
    const { log, restartOnExit = true } = this.#options;
    const next = restartOnExit ? `restarting in ${delayMs / 1_000} s` : 'it restarts with the next change';
    log.say(`${this.name} ${ended}; ${next}`, 'WARN');
    const signal = AbortSignal.any([this.#stopping.signal, this.#hurry.signal]);
    await pause(restartOnExit ? delayMs : untilRestartMs, signal);
  }

  /** Launches the process again and returns how it ended. */
  async #runAgain(): Promise<string> {
    const requested = this.#requested;
    this.#requested = undefined;
    this.#hurry = new AbortController();
    try {
      if (this.#stopping.signal.aborted) return 'was stopped';
      const running = await this.#launch();
      void this.#ready(running).then((ready) => {
        if (ready) this.#options.log.say(`${this.name} runs again`);
        requested?.resolve(ready);
      });
      return await running.ended;
    } catch (error) {
      return `could not start: ${(error as Error).message}`;
    } finally {
      // It has ended; if it was ready before, it has resolved it already.
      requested?.resolve(false);
    }
  }

  async #launch(): Promise<RunningProcess> {
    const running = await this.#options.launch();
    this.#set(running);
    // Stopped or restarted while it was being launched: `#running` was not set yet.
    if (this.#stopping.signal.aborted || this.#requested !== undefined) await running.stop();
    return running;
  }

  /** Resolves to true when the process is ready, and to false when it exits or takes too long. */
  async #ready(running: RunningProcess): Promise<boolean> {
    const state = { over: false };
    void running.ended.then(() => {
      state.over = true;
    });
    const deadline = performance.now() + readyTimeoutMs;
    while (!state.over && !this.#stopping.signal.aborted && performance.now() < deadline) {
      if (await this.#options.isReady()) return true;
      await pause(readyPollMs, this.#stopping.signal);
    }
    return false;
  }

  #set(running: RunningProcess | undefined): void {
    this.#running = running;
    this.#options.onChange();
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
