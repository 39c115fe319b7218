import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { SampleBuilder, type TextSample } from './token-estimate.ts';
import { maxMemoryChars } from '../bounds.ts';

/** Meters an answer, whole or streamed: its name of the model, a sample of its text, and its beginning for memory. */
export class AnswerMeter {
  responseModel: string | null = null;
  /** Whether the client is to call tools: the text is no answer yet then, and memory gets nothing. */
  callsTools = false;
  readonly sample = new SampleBuilder();
  readonly #memory: MemoryText | null;

  /** `keepsText`: whether `keptText` is wanted. */
  constructor(keepsText = false) {
    this.#memory = keepsText ? new MemoryText() : null;
  }

  get answer(): TextSample {
    return this.sample.built;
  }

  /** The beginning of the text for the user; empty unless it is wanted. */
  get keptText(): string {
    return this.callsTools ? '' : (this.#memory?.text ?? '');
  }

  /** All metered amounts, with the end of the answer. */
  whole<End>(end: End): End & { responseModel: string | null; answer: TextSample; text: string } {
    return { ...end, responseModel: this.responseModel, answer: this.answer, text: this.keptText };
  }

  /** Whether further text changes only the number of characters. */
  get isFull(): boolean {
    return this.sample.isFull && (this.callsTools || this.#memory?.isFull !== false);
  }

  /** Whether memory gets more of the text for the user. */
  protected get takesSpoken(): boolean {
    return this.#memory?.isFull === false;
  }

  addModel(model: unknown): void {
    if (typeof model === 'string' && model !== '')
      this.responseModel = cutText(model, textLimits.response_model);
  }

  /** `text`: all text with a cost in tokens. `spoken`: the part of it for the user. */
  addText(text: string, spoken = ''): void {
    this.sample.add(text);
    this.addSpoken(spoken);
  }

  addSpoken(text: string): void {
    this.#memory?.add(text);
  }
}

/** The beginning of an answer's text for the user, for memory. */
class MemoryText {
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
