import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { callLeaseS, prolongMs } from '../bounds.ts';

/** This process's calls in work: it prolongs their claims for as long. */
export class Claims {
  readonly #held = new Set<string>();
  readonly #prolonging: PeriodicWork;

  constructor({
    prolong,
    log,
  }: {
    prolong: (claimIds: readonly string[], seconds: number) => Promise<void>;
    log: Logger;
  }) {
    this.#prolonging = new PeriodicWork({
      task: 'prolong claims of calls',
      log,
      everyMs: prolongMs,
      round: async () => {
        if (this.#held.size > 0) await prolong([...this.#held], callLeaseS);
        return false;
      },
    });
  }

  start(): void {
    this.#prolonging.start();
  }

  async stop(): Promise<void> {
    await this.#prolonging.stop();
  }

  /** A claim, and how long it lasts if no process holds it. */
  make(): { claimId: string; seconds: number } {
    return { claimId: newId(), seconds: callLeaseS };
  }

  /** Holds a claim while `work` runs. */
  async hold<Result>(claimId: string, work: () => Promise<Result>): Promise<Result> {
    this.#held.add(claimId);
    try {
      return await work();
    } finally {
      this.#held.delete(claimId);
    }
  }
}
