import type { AnswerPart } from './answer.ts';
import { fittingId, type IdRule } from './call-ids.ts';
import type { Part, ReasoningSignature, ThinkingPart, Turn } from './conversation.ts';
import type { WrittenEvent } from './stream-events.ts';
import { maxReasoningChars, maxReasoningParts } from '../bounds.ts';

/**
 * Thoughts with signatures beside the answers of an API without a place for signatures. Each is known by the call of a
 * tool behind it, and goes back to its origin in front of this call.
 */

export interface SignedThought {
  text: string;
  signature: ReasoningSignature;
}

export interface SignedReasoning extends SignedThought {
  /** Whether it came before any text of its message. */
  isFirst: boolean;
}

/** A call in an answer, as its client gets it, and the thoughts between it and the call before. */
export interface CallReasoning {
  id: string;
  name: string;
  thoughts: readonly SignedReasoning[];
}

/** Thoughts by the ids of calls. */
export type KnownReasoning = ReadonlyMap<string, readonly SignedReasoning[]>;

/** Collects the thoughts of one answer from before its calls. */
export class ReasoningCollector {
  readonly #ids: IdRule;
  #calls: CallReasoning[] = [];
  #thoughts: SignedReasoning[] = [];
  /** The text of the open thought in a stream. */
  #text: string[] | null = null;
  #hasText = false;
  #count = 0;
  #chars = 0;

  /** `ids`: the client's ids. */
  constructor(ids: IdRule) {
    this.#ids = ids;
  }

  /** The calls in their order; an empty list for an answer with too many thoughts. */
  get calls(): readonly CallReasoning[] {
    return this.#isFull() ? [] : this.#calls;
  }

  part(part: AnswerPart): void {
    if (part.kind === 'thinking') this.#thought(part);
    else if (part.kind === 'call') this.#call(part);
    else this.#hasText = true;
  }

  /** An event as the client gets it. */
  event(event: WrittenEvent): void {
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
      this.#thought({ kind: 'thinking', text, signature: event.signature });
    }
  }

  #isFull(): boolean {
    return this.#chars > maxReasoningChars || this.#count > maxReasoningParts;
  }

  #thought({ text, signature }: ThinkingPart): void {
    if (signature === null || this.#isFull()) return;
    this.#count += 1;
    this.#chars += text.length + signature.text.length;
    if (this.#isFull()) this.#forget();
    else this.#thoughts.push({ text, signature, isFirst: !this.#hasText });
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

/** The calls with thoughts, without those of the gateway's own tools: thoughts before these belong to the next call. */
export function withoutOwn(
  calls: readonly CallReasoning[],
  isOwn: (name: string) => boolean,
): readonly CallReasoning[] {
  const current: CallReasoning[] = [];
  let before: readonly SignedReasoning[] = [];
  for (const { id, name, thoughts } of calls) {
    before = [...before, ...thoughts];
    if (isOwn(name)) continue;
    if (before.length > 0) current.push({ id, name, thoughts: before });
    before = [];
  }
  return current;
}

/** The turns with known thoughts: those from the beginning of a message there again, others in front of their calls. */
export function thinkingTurns(turns: readonly Turn[], known: KnownReasoning): Turn[] {
  return turns.map((turn) => {
    const first: Part[] = [];
    const others: Part[] = [];
    for (const part of turn.parts) {
      for (const { text, signature, isFirst } of part.kind === 'call' ? (known.get(part.id) ?? []) : [])
        (isFirst ? first : others).push({ kind: 'thinking', text, signature });
      others.push(part);
    }
    return { ...turn, parts: [...first, ...others] };
  });
}
