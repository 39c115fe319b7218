import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { RefusalWriter } from '../refusal-writer.ts';
import { EndedChoices, numberedChoices } from '../ended-choices.ts';
import type { Usage } from '../usage/usage.ts';
import { ChunkHead, endFrames, frameOf, hasFinished, parseFrame } from './chunks.ts';

const finish = /"finish_reason"\s*:\s*"/;

/** Ends choices of chat completions: with `refusal`, and the finish reason `content_filter`. */
export class ChunkRefusalWriter implements RefusalWriter {
  readonly #choices: EndedChoices;
  readonly #head = new ChunkHead();
  /** Choices of which the client has a chunk, the first with their role. */
  readonly #begun = new Set<number>();

  readonly #requested: number;

  constructor(choices: number) {
    this.#requested = choices;
    this.#choices = new EndedChoices(choices);
  }

  get open(): readonly number[] {
    return this.#choices.open;
  }

  see(frame: Buffer): void {
    const chunk = chunkIn(frame);
    if (chunk === null) return;
    this.#head.add(chunk);
    for (const { index } of choicesIn(chunk)) this.#choices.begin(index);
  }

  left(frame: Buffer): void {
    // Most frames only go on with a choice: reading them would take as long as their checks.
    if (this.#begun.size >= this.#requested && !finish.test(frame.toString('latin1'))) return;
    const chunk = chunkIn(frame);
    for (const { index, choice } of chunk === null ? [] : choicesIn(chunk)) {
      this.#begun.add(index);
      if (hasFinished(choice['finish_reason'])) this.#choices.end(index);
    }
  }

  refuse(index: number, message: string): Buffer[] {
    this.#choices.refuse(index);
    const chunk = (delta: Fields, finish_reason: string | null): Buffer =>
      frameOf({
        ...{ ...this.#head.built, object: 'chat.completion.chunk' },
        choices: [{ index, delta, logprobs: null, finish_reason }],
      });
    const role = this.#begun.has(index) ? {} : { role: 'assistant' };
    return [chunk({ ...role, refusal: message }, null), chunk({}, 'content_filter')];
  }

  isBeginning(): boolean {
    return false;
  }

  without(frame: Buffer): Buffer | null {
    const chunk = chunkIn(frame);
    if (chunk === null) return frame;
    const all = choicesIn(chunk);
    const others = all.filter(({ index }) => !this.#choices.isRefused(index));
    if (others.length === all.length) return frame;
    if (others.length === 0 && !isFields(chunk['usage'])) return null;
    return frameOf({ ...chunk, choices: others.map(({ choice }) => choice) });
  }

  endFrames(usage: Usage | null, isAsked: boolean): Buffer[] {
    return endFrames(this.#head.built, isAsked ? usage : null);
  }
}

function chunkIn(frame: Buffer): Fields | null {
  const parsed = parseFrame(frame);
  return parsed.type === 'chunk' ? parsed.chunk : null;
}

function choicesIn(chunk: Fields): { index: number; choice: Fields }[] {
  return numberedChoices(listOf(chunk['choices']).filter(isFields));
}
