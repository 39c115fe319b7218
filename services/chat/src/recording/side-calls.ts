import { monotonicMs } from '@gatehouse/kit/clock';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { AttemptOutcome, AttemptRecord } from '../providers/open-call.ts';
import type { OpenAttempt, SideCall } from './active-run-options.ts';
import { failedOutcome } from './failed-attempt.ts';

interface SideRun {
  open: (side: SideCall, ...call: Parameters<AttemptRecord['startAttempt']>) => OpenAttempt;
  /** Commits a call before it is made. */
  commit: (open: OpenAttempt) => Promise<void>;
  end: (open: OpenAttempt, outcome: AttemptOutcome) => void | Promise<void>;
}

/** The calls of models beside those for the answer of a run. */
export class SideCalls {
  readonly #run: SideRun;
  readonly #open = new Set<OpenAttempt>();
  readonly #ending = new Set<Promise<void>>();

  constructor(run: SideRun) {
    this.#run = run;
  }

  /** The calls under way. */
  get open(): ReadonlySet<OpenAttempt> {
    return this.#open;
  }

  /** The record of one call, or of its repeats one after the other. */
  record(side: SideCall): AttemptRecord {
    let open: OpenAttempt | null = null;
    const end = (outcome: AttemptOutcome): void | Promise<void> => {
      const ended = open;
      open = null;
      return ended === null ? undefined : this.#end(ended, outcome);
    };
    return {
      // Its one model has no alternative.
      passOver: () => undefined,
      startAttempt: async (model, request) => {
        const started = this.#run.open(side, model, request);
        open = started;
        this.#open.add(started);
        try {
          await this.#run.commit(started);
        } catch (error) {
          await end({ status: 'not_sent', usage: noUsage });
          throw error;
        }
        return started.trace;
      },
      noteAccepted: () => {
        if (open !== null) open.accepted = true;
      },
      noteFirstToken: () => {
        if (open !== null) open.firstTokenAt ??= monotonicMs();
      },
      endAttempt: end,
      failAttempt: (failure, answer, generated) => end(failedOutcome(failure, { open, answer, generated })),
    };
  }

  /** Ends all calls with their run: of a call under way, as much counts as its prompt. */
  async endAll(): Promise<void> {
    for (const open of this.#open) void this.#end(open, { status: 'cancelled', usage: null });
    await Promise.all(this.#ending);
  }

  #end(open: OpenAttempt, outcome: AttemptOutcome): void | Promise<void> {
    // The run has ended it.
    if (!this.#open.delete(open)) return undefined;
    const ending = this.#run.end(open, outcome);
    if (!(ending instanceof Promise)) return undefined;
    const counted = ending.finally(() => this.#ending.delete(counted));
    this.#ending.add(counted);
    return counted;
  }
}
