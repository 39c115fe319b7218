import { cutText } from '@gatehouse/events/cut-text';

/** UTF-16 units: the most of a question, and of an answer, that memory gets. */
export const maxMemoryChars = 32 * 1024;

/** The beginning of an answer's text for the user, for memory. */
export class MemoryText {
  readonly #texts: string[] = [];
  #chars = 0;

  add(text: string): void {
    if (text === '' || this.isFull) return;
    const cut = cutText(text, maxMemoryChars - this.#chars);
    this.#texts.push(cut);
    this.#chars = cut.length < text.length ? maxMemoryChars : this.#chars + cut.length;
  }

  /** Whether further texts are left out. */
  get isFull(): boolean {
    return this.#chars >= maxMemoryChars;
  }

  get text(): string {
    return this.#texts.join('');
  }
}
