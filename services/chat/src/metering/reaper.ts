import type { Logger } from '@gatehouse/kit/log';
import type { Pool } from '@gatehouse/pg/pool';
import type { AttemptEnd, AttemptStart } from '../domain/run.ts';
import { sumUsage, type Usage } from '../domain/usage.ts';
import { markSilentInstancesDead } from '../store/instance-system-store.ts';
import { findOrphans, type Orphan } from '../store/orphan-system-store.ts';
import { insertEnds, type EndRow } from '../store/run-system-store.ts';
import { deadAfterMs, heartbeatMs, type Instance } from './instance.ts';
import type { Meter } from './meter.ts';

const batch = 200;

/**
 * Ends the runs of instances that died, as `interrupted` with estimated usage. Every replica runs one; the first end
 * of a run wins, so they need not agree on who does it.
 */
export class Reaper {
  readonly #pool: Pool;
  readonly #instance: Instance;
  readonly #meter: Meter;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(pool: Pool, instance: Instance, meter: Meter, log: Logger) {
    this.#pool = pool;
    this.#instance = instance;
    this.#meter = meter;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#sweeping = this.#sweeping
        .then(() => this.sweep())
        .catch((error: unknown) => this.#log.warn({ err: error }, 'reaping failed'));
    }, heartbeatMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** One round; does nothing until our own heartbeats have been steady for a full dead period. */
  async sweep(): Promise<void> {
    if (this.#instance.steadyMs < deadAfterMs) return;
    const dead = await markSilentInstancesDead(this.#pool, deadAfterMs);
    if (dead.length > 0) this.#log.warn({ instances: dead }, 'instances declared dead');
    for (;;) {
      const orphans = await findOrphans(this.#pool, this.#instance.id, this.#meter.openRuns, batch);
      const ended = orphans.length === 0 ? [] : await insertEnds(this.#pool, orphans.map(interrupted));
      if (ended.length > 0) this.#log.warn({ runs: ended.length }, 'interrupted runs ended');
      if (orphans.length < batch) return;
    }
  }
}

function interrupted(orphan: Orphan): EndRow {
  const attempts = orphan.openAttempts.map((attempt) => ({ ...attempt, ...interruptedAttempt(attempt) }));
  const last = orphan.openAttempts.at(-1);
  const ended: Usage = {
    inputTokens: orphan.endedInputTokens,
    cachedInputTokens: 0,
    outputTokens: orphan.endedOutputTokens,
    reasoningTokens: 0,
    estimated: true,
  };
  return {
    run: orphan.run,
    attempts,
    end: {
      status: 'interrupted',
      durationMs: orphan.ageMs,
      timeToFirstTokenMs: null,
      provider: last?.provider ?? null,
      model: last?.model ?? null,
      responseModel: null,
      usage: sumUsage([ended, ...attempts.map((attempt) => attempt.usage)]),
      errorType: 'interrupted',
      errorMessage: 'The gateway process that worked on this run ended.',
      outputPreview: null,
    },
  };
}

/** How much was answered before the process died is unknown; the prompt at least was read. */
function interruptedAttempt(attempt: AttemptStart): AttemptEnd {
  return {
    id: attempt.id,
    status: 'interrupted',
    offsetMs: null,
    durationMs: null,
    timeToFirstTokenMs: null,
    httpStatus: null,
    errorCode: 'interrupted',
    responseModel: null,
    usage: {
      inputTokens: attempt.inputTokensGuess,
      cachedInputTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      estimated: true,
    },
  };
}
