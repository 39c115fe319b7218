import type { Answer, StopReason } from './answer.ts';
import type { WrittenEvent } from './stream-events.ts';

/**
 * Calls cut by a limit of tokens. The arguments of one may be valid JSON without its last members, so that parsing does
 * not find a cut call: it is the last part of an answer that stopped there.
 */

const cutting: ReadonlySet<StopReason> = new Set(['length', 'context']);

/** An answer without a cut call at its end. */
export function withoutCutCall(answer: Answer): Answer {
  const isCut = cutting.has(answer.stop.reason) && answer.parts.at(-1)?.kind === 'call';
  return isCut ? { ...answer, parts: answer.parts.slice(0, -1) } : answer;
}

/** Holds the end of each call in a stream until its next event says whether the call was cut. */
export class CallEnds {
  #isCall = false;
  #held: Extract<WrittenEvent, { type: 'close' }> | null = null;

  passed(event: WrittenEvent): WrittenEvent[] {
    if (event.type === 'open') this.#isCall = event.part.kind === 'call';
    if (event.type === 'close' && this.#isCall) {
      this.#held = event;
      return [];
    }
    const held = this.#held;
    if (held === null || event.type === 'usage') return [event];
    this.#held = null;
    const isCut = event.type === 'stop' && cutting.has(event.stop.reason);
    return [isCut ? { ...held, isCut } : held, event];
  }
}
