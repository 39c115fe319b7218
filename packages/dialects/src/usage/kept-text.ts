import { cutText } from '@gatehouse/events/cut-text';

/** UTF-16 units: the most of a question, and of an answer, that memory gets. */
export const maxKeptChars = 32 * 1024;

/** The beginning of what a model says to the user, for memory. */
export class KeptText {
  readonly #texts: string[] = [];
  #chars = 0;

  add(said: string): void {
    if (said === '' || this.isFull) return;
    const kept = cutText(said, maxKeptChars - this.#chars);
    this.#texts.push(kept);
    this.#chars = kept.length < said.length ? maxKeptChars : this.#chars + kept.length;
  }

  /** Whether further texts are left out. */
  get isFull(): boolean {
    return this.#chars >= maxKeptChars;
  }

  get text(): string {
    return this.#texts.join('');
  }
}
