import type { Seal } from './conversation.ts';
import type { OpenPart, StreamEvent } from './stream-events.ts';

/** Text that waits for other parts to end. Longer answers are none. */
const maxHeldChars = 4 * 1024 * 1024;
const charsEach = 16;

interface HeldPart {
  key: string;
  part: OpenPart;
  texts: string[];
  /** Undefined as long as it is open. */
  seal: Seal | null | undefined;
}

/**
 * Puts parts that come at the same time one after the other: a client's API knows one open part. The first one passes as it
 * comes, and those behind it are held until it ends.
 */
export class PartSequence {
  /** The parts that have not ended, in their order. The first one has been passed on. */
  readonly #parts: HeldPart[] = [];
  #held = 0;

  /** Whether a part is open, or waits. */
  has(key: string): boolean {
    return this.#parts.some((part) => part.key === key);
  }

  /** Keys of the parts that are open. */
  get keys(): string[] {
    return this.#parts.map(({ key }) => key);
  }

  open(key: string, part: OpenPart): StreamEvent[] {
    const held: HeldPart = { key, part, texts: [], seal: undefined };
    this.#parts.push(held);
    if (this.#parts[0] === held) return [{ type: 'open', part }];
    this.#hold('');
    return [];
  }

  /** More of a part. Nothing of one that is not open. */
  add(key: string, text: string): StreamEvent[] {
    const held = this.#parts.find((part) => part.key === key && part.seal === undefined);
    if (held === undefined || text === '') return [];
    if (this.#parts[0] === held) return [{ type: 'delta', text }];
    this.#hold(text);
    held.texts.push(text);
    return [];
  }

  close(key: string, seal: Seal | null = null): StreamEvent[] {
    const held = this.#parts.find((part) => part.key === key && part.seal === undefined);
    if (held === undefined) return [];
    held.seal = seal;
    const events: StreamEvent[] = [];
    let first = this.#parts[0];
    while (first?.seal !== undefined) {
      events.push({ type: 'close', seal: first.seal });
      this.#parts.shift();
      first = this.#parts[0];
      if (first !== undefined) events.push(...this.#begin(first));
    }
    return events;
  }

  closeAll(): StreamEvent[] {
    return this.keys.flatMap((key) => this.close(key));
  }

  #begin(first: HeldPart): StreamEvent[] {
    const { texts } = first;
    this.#held -= texts.reduce((sum, { length }) => sum + length + charsEach, charsEach);
    first.texts = [];
    return [{ type: 'open', part: first.part }, ...texts.map((text) => ({ type: 'delta', text }) as const)];
  }

  #hold({ length }: string): void {
    this.#held += length + charsEach;
    if (this.#held > maxHeldChars) throw new Error('the answer has too many parts at the same time');
  }
}
