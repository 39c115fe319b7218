import type { Fields } from '@gatehouse/kit/fields';
import type { RefusalWriter } from '../refusal-writer.ts';
import { EndedChoices, numberedChoices } from '../ended-choices.ts';
import type { Usage } from '../usage/usage.ts';
import { objectsIn } from './fields.ts';
import { writeUsage } from './response.ts';
import { frameOf, hasFinished, responseIn } from './stream.ts';

const finish = /"finish_?[Rr]eason"\s*:\s*"/;

/** Ends candidates with the finish reason `SAFETY`, and the sentence as `finishMessage`. */
export class CandidateRefusalWriter implements RefusalWriter {
  /** Some models answer with one candidate, whatever was requested. */
  readonly #candidates = new EndedChoices(1);
  #head: Fields = {};
  /** The end of the last candidate, which has the usage beside it. */
  #last: Fields | null = null;

  get open(): readonly number[] {
    return this.#candidates.open;
  }

  see(frame: Buffer): void {
    const response = responseIn(frame);
    if (response === null) return;
    for (const name of ['modelVersion', 'responseId'])
      if (typeof response[name] === 'string') this.#head = { ...this.#head, [name]: response[name] };
    for (const { index } of candidatesIn(response)) this.#candidates.begin(index);
  }

  left(frame: Buffer): void {
    if (!finish.test(frame.toString('latin1'))) return;
    for (const { index, choice } of candidatesIn(responseIn(frame) ?? {}))
      if (hasFinished(choice)) this.#candidates.end(index);
  }

  refuse(index: number, message: string): Buffer[] {
    this.#candidates.refuse(index);
    const content = { role: 'model', parts: [] };
    const candidate = { content, finishReason: 'SAFETY', finishMessage: message, index };
    if (this.open.length > 0) return [frameOf({ candidates: [candidate], ...this.#head })];
    this.#last = candidate;
    return [];
  }

  isBeginning(): boolean {
    return false;
  }

  without(frame: Buffer): Buffer | null {
    const response = responseIn(frame);
    if (response === null) return frame;
    const all = candidatesIn(response);
    const others = all.filter(({ index }) => !this.#candidates.isRefused(index));
    if (others.length === all.length) return frame;
    if (others.length === 0) return null;
    return frameOf({ ...response, candidates: others.map(({ choice }) => choice) });
  }

  endFrames(usage: Usage | null): Buffer[] {
    const usageMetadata = usage === null ? undefined : writeUsage(usage);
    const candidates = this.#last === null ? [] : [this.#last];
    return [frameOf({ candidates, ...(usageMetadata && { usageMetadata }), ...this.#head })];
  }
}

function candidatesIn(response: Fields): { index: number; choice: Fields }[] {
  return numberedChoices(objectsIn(response, 'candidates'));
}
