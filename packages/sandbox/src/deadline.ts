import { monotonicMs } from '@gatehouse/kit/clock';
import type { SandboxProcess } from './sandbox-process.ts';
import { checkMs, patience } from './bounds.ts';

/** Aborts when a process has taken too much processor time for its input, or far too long. */
export class Deadline {
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  watch(process: Pick<SandboxProcess, 'usedMs'>, ms: number): void {
    const [used, begun] = [process.usedMs, monotonicMs()];
    const check = (): void => {
      if (process.usedMs - used < ms && monotonicMs() - begun < ms * patience) return;
      this.stop();
      this.#over.abort(new DOMException('The sandbox took too long', 'TimeoutError'));
    };
    this.#timer = setInterval(check, Math.min(checkMs, ms));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
