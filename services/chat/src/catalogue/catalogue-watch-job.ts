import { hash } from 'node:crypto';
import { BackgroundLoop, jittered } from '@gatehouse/kit/background-loop';
import { retryMs } from '@gatehouse/kit/bounds';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Logger } from '@gatehouse/kit/log';
import { counter, type Counter, type Registry } from '@gatehouse/kit/metrics';
import { CatalogueError } from './catalogue.ts';
import { longestRereadMs } from '../bounds.ts';

const everyMs = 2_000;

/** An unusable catalogue. */
export interface InvalidCatalogue {
  problems: readonly string[];
  /** Names its content, also in other replicas. */
  digest: string;
}

/** A file to read again when it changes. */
export interface WatchedFile {
  /** Log messages for a change in use and for an unusable one. */
  messages: Record<'read' | 'failed', string>;
  /** The text in use when the watch starts; null without one. */
  used: () => string | null;
  /** The text of the file; null without a file to watch. */
  text: () => Promise<string | null>;
  /** Takes over a text. A failure throws, and nothing has changed then. */
  use: (text: string, signal: AbortSignal) => Promise<void> | void;
}

export interface CatalogueWatchOptions {
  onInvalid: (invalid: InvalidCatalogue) => void;
  log: Logger;
  registry: Registry;
  everyMs?: number | undefined;
  /** The clock in milliseconds; by default the monotonic one. */
  now?: () => number;
}

interface Watched {
  file: WatchedFile;
  /** The reading before. */
  last: string | null;
  /** The reading tried last, with or without success. */
  used: string | null;
  /** The last pause before an unusable reading is tried again; 0 for another reading. */
  pauseMs: number;
  /** The time at which it is tried again. */
  retryAt: number;
  /** The failure reported for it. */
  reported: string | null;
}

/**
 * Reads the files of the catalogue again when they have changed. Polling sees every kind of change: rewritten files,
 * renamed ones, and links with a new target, like those of a ConfigMap. A change counts when two readings in a row
 * agree, so no file is used while it is written. While a file is wrong, the content read before stays in use.
 */
export class CatalogueWatch {
  readonly #options: CatalogueWatchOptions;
  readonly #everyMs: number;
  readonly #now: () => number;
  readonly #failures: Counter;
  readonly #loop = new BackgroundLoop(() => this.#round());
  #files: readonly WatchedFile[] = [];
  #watched: readonly Watched[] = [];

  constructor(options: CatalogueWatchOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? everyMs;
    this.#now = options.now ?? monotonicMs;
    const help = 'Changes of the model catalogue and its prices that could not be used';
    this.#failures = counter(options.registry, 'gatehouse_catalogue_reload_failures_total', help);
  }

  /** Sets the files to read from `start` on. */
  follow(files: readonly WatchedFile[]): void {
    this.#files = files;
  }

  start(): void {
    this.#watched = this.#files.map((file) => {
      const text = file.used();
      const used = text === null ? null : `text ${text}`;
      return { file, last: null, used, pauseMs: 0, retryAt: Infinity, reported: null };
    });
    this.#loop.start(this.#everyMs);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Reports an unusable part of the catalogue. `content` names it. */
  failed(message: string, error: unknown, content: string): void {
    const { onInvalid, log } = this.#options;
    if (this.#loop.signal.aborted) return;
    const problems = problemsOf(error);
    this.#failures.inc();
    log.error({ problems: problems.slice(0, 1_000), count: problems.length }, message);
    onInvalid({ problems, digest: hash('sha256', content, 'base64url') });
  }

  async #round(): Promise<number> {
    for (const watched of this.#watched) {
      const text = await watched.file.text().catch(asError);
      if (text === null || this.#loop.signal.aborted) continue;
      const reading = typeof text === 'string' ? `text ${text}` : `error ${text.message}`;
      const agrees = reading === watched.last;
      watched.last = reading;
      if (!agrees) continue;
      if (reading !== watched.used) watched.pauseMs = 0;
      else if (this.#now() < watched.retryAt) continue;
      watched.used = reading;
      watched.retryAt = Infinity;
      await this.#use(watched, text);
    }
    return this.#everyMs;
  }

  async #use(watched: Watched, text: string | Error): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#loop;
    const { messages, use } = watched.file;
    try {
      if (typeof text !== 'string') throw text;
      await use(text, signal);
      watched.reported = null;
      log.info(messages.read);
    } catch (error) {
      // A file of 2 MiB takes the event loop some hundred milliseconds.
      watched.pauseMs = Math.min(longestRereadMs, Math.max(retryMs, 2 * watched.pauseMs));
      watched.retryAt = this.#now() + jittered(watched.pauseMs);
      const content = typeof text === 'string' ? text : text.message;
      const failure = hash('sha256', JSON.stringify([content, problemsOf(error)]));
      if (failure !== watched.reported) this.failed(messages.failed, error, content);
      watched.reported = failure;
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function problemsOf(error: unknown): readonly string[] {
  return error instanceof CatalogueError ? error.problems : [asError(error).message];
}
