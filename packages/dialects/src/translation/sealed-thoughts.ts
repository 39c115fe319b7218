import type { AnswerPart } from './answer.ts';
import { fittingId, type IdRule } from './call-ids.ts';
import type { Part, Seal, ThinkingPart, Turn } from './conversation.ts';
import type { StreamEvent } from './stream-events.ts';

/**
 * Thoughts with seals beside the answers of an API that has no place for seals. Each is known by the call of a tool that it
 * came before, and goes back to its maker in front of that call.
 */

export interface SealedThought {
  text: string;
  seal: Seal;
  /** Whether it came before any text of its message. */
  isFirst: boolean;
}

/** A call in an answer, as its client gets it, and the thoughts between it and the call before. */
export interface CallThoughts {
  id: string;
  name: string;
  thoughts: readonly SealedThought[];
}

/** Thoughts by the ids of calls. */
export type KnownThoughts = ReadonlyMap<string, readonly SealedThought[]>;

/** Answers with more have none: models think about 100,000 characters at most, and seal as many. */
const maxChars = 1024 * 1024;
const maxThoughts = 1_000;

/** Collects the thoughts of one answer that came before its calls. */
export class ThoughtCollector {
  readonly #ids: IdRule;
  #calls: CallThoughts[] = [];
  #thoughts: SealedThought[] = [];
  /** The text of the thought that is open in a stream. */
  #text: string[] | null = null;
  #hasText = false;
  #count = 0;
  #chars = 0;

  /** `ids`: those that the client gets. */
  constructor(ids: IdRule) {
    this.#ids = ids;
  }

  /** The calls in their order; none of an answer that has too many thoughts. */
  get calls(): readonly CallThoughts[] {
    return this.#isFull() ? [] : this.#calls;
  }

  part(part: AnswerPart): void {
    if (part.kind === 'thinking') this.#thought(part);
    else if (part.kind === 'call') this.#call(part);
    else this.#hasText = true;
  }

  /** An event as the client gets it. */
  event(event: StreamEvent): void {
    if (event.type === 'open') {
      this.#text = event.part.kind === 'thinking' ? [] : null;
      if (event.part.kind === 'call') this.#call(event.part);
      else this.#hasText ||= event.part.kind !== 'thinking';
    } else if (this.#text === null) return;
    else if (event.type === 'delta') {
      this.#chars += event.text.length;
      if (this.#isFull()) this.#forget();
      else this.#text.push(event.text);
    } else if (event.type === 'close') {
      const text = this.#text.join('');
      this.#text = null;
      this.#chars -= text.length;
      this.#thought({ kind: 'thinking', text, seal: event.seal });
    }
  }

  #isFull(): boolean {
    return this.#chars > maxChars || this.#count > maxThoughts;
  }

  #thought({ text, seal }: ThinkingPart): void {
    if (seal === null || this.#isFull()) return;
    this.#count += 1;
    this.#chars += text.length + seal.text.length;
    if (this.#isFull()) this.#forget();
    else this.#thoughts.push({ text, seal, isFirst: !this.#hasText });
  }

  #call({ id, name }: { id: string; name: string }): void {
    this.#calls.push({ id: fittingId(id, this.#ids), name, thoughts: this.#thoughts });
    this.#thoughts = [];
  }

  #forget(): void {
    this.#calls = [];
    this.#thoughts = [];
    this.#text = null;
  }
}

/** The calls that have thoughts, without those of the gateway's own tools: thoughts before these belong to the next call. */
export function withoutOwn(
  calls: readonly CallThoughts[],
  isOwn: (name: string) => boolean,
): readonly CallThoughts[] {
  const kept: CallThoughts[] = [];
  let before: readonly SealedThought[] = [];
  for (const { id, name, thoughts } of calls) {
    before = [...before, ...thoughts];
    if (isOwn(name)) continue;
    if (before.length > 0) kept.push({ id, name, thoughts: before });
    before = [];
  }
  return kept;
}

/** The turns with known thoughts: those that began a message at its beginning, others in front of their calls. */
export function thinkingTurns(turns: readonly Turn[], known: KnownThoughts): Turn[] {
  return turns.map((turn) => {
    const first: Part[] = [];
    const others: Part[] = [];
    for (const part of turn.parts) {
      for (const { text, seal, isFirst } of part.kind === 'call' ? (known.get(part.id) ?? []) : [])
        (isFirst ? first : others).push({ kind: 'thinking', text, seal });
      others.push(part);
    }
    return { ...turn, parts: [...first, ...others] };
  });
}
