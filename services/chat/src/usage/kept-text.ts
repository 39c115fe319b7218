import { cutText } from '@gatehouse/events/cut-text';
import { spokenText } from '../dialects/openai/message-text.ts';

/** UTF-16 units: the most of a question, and of an answer, that memory gets. */
export const maxKeptChars = 32 * 1024;

/** What a model says to the user in a message or in the deltas of one: no reasoning, no refusal and no tool calls. */
export class KeptText {
  readonly #texts: string[] = [];
  #chars = 0;

  /** Adds a message or a delta. */
  add(message: unknown): void {
    const { content } = Object(message) as { content?: unknown };
    if (this.#chars >= maxKeptChars) return;
    const said = spokenText(content);
    if (said === '') return;
    const kept = cutText(said, maxKeptChars - this.#chars);
    this.#texts.push(kept);
    this.#chars = kept.length < said.length ? maxKeptChars : this.#chars + kept.length;
  }

  get text(): string {
    return this.#texts.join('');
  }
}
