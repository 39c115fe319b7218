import { SampleBuilder, type TextSample } from '../usage/token-estimate.ts';
import type { ReasoningSignature } from './conversation.ts';
import type { OpenPart, StreamEvent } from './stream-events.ts';
import { charsEach, maxParts, maxWaitingChars } from '../bounds.ts';

interface HeldPart {
  key: string;
  part: OpenPart;
  texts: string[];
  /** Undefined as long as it is open. */
  signature: ReasoningSignature | null | undefined;
}

/**
 * Puts simultaneous parts one after the other: a client's API knows one open part. The first one passes as it comes,
 * and those behind it are held until it ends.
 */
export class PartSequence {
  /** The unfinished parts, in their order. The first one has been passed on. */
  readonly #parts: HeldPart[] = [];
  readonly #open = new Map<string, HeldPart>();
  #held = 0;

  /** Whether a part is open. A finished one in the queue is not. */
  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Keys of the open parts. */
  get keys(): string[] {
    return [...this.#open.keys()];
  }

  /** The held texts. */
  get held(): TextSample {
    const sample = new SampleBuilder();
    for (const { part, texts } of this.#parts.slice(1)) {
      if (part.kind === 'call') sample.add(part.name);
      for (const text of texts) sample.add(text);
    }
    return sample.built;
  }

  open(key: string, part: OpenPart): StreamEvent[] {
    if (this.#parts.length >= maxParts) throw new Error('the answer has too many parts at the same time');
    const held: HeldPart = { key, part, texts: [], signature: undefined };
    this.#parts.push(held);
    this.#open.set(key, held);
    if (this.#parts[0] === held) return [{ type: 'open', part }];
    this.#hold('');
    return [];
  }

  /** More of a part. Nothing for a part already closed. */
  add(key: string, text: string): StreamEvent[] {
    const held = this.#open.get(key);
    if (held === undefined || text === '') return [];
    if (this.#parts[0] === held) return [{ type: 'delta', text }];
    this.#hold(text);
    held.texts.push(text);
    return [];
  }

  close(key: string, signature: ReasoningSignature | null = null): StreamEvent[] {
    const held = this.#open.get(key);
    if (held === undefined) return [];
    this.#open.delete(key);
    held.signature = signature;
    const events: StreamEvent[] = [];
    let first = this.#parts[0];
    while (first?.signature !== undefined) {
      events.push({ type: 'close', signature: first.signature });
      this.#parts.shift();
      first = this.#parts[0];
      if (first !== undefined) events.push(...this.#begin(first));
    }
    return events;
  }

  closeAll(): StreamEvent[] {
    return this.keys.flatMap((key) => this.close(key));
  }

  /** Its text so far is one piece: many small ones would be as many frames at once. */
  #begin(first: HeldPart): StreamEvent[] {
    const { texts } = first;
    this.#held -= texts.reduce((sum, { length }) => sum + length + charsEach, charsEach);
    first.texts = [];
    const text = texts.join('');
    const begun: StreamEvent = { type: 'open', part: first.part };
    return text === '' ? [begun] : [begun, { type: 'delta', text }];
  }

  #hold({ length }: string): void {
    this.#held += length + charsEach;
    if (this.#held > maxWaitingChars) throw new Error('the answer has too many parts at the same time');
  }
}
