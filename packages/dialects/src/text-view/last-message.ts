import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { TextPlace, TextRules } from './text-rules.ts';
import { readingOf, type Leaf, type TextWalk } from './text-walk.ts';

/** So many values are passed in a step. */
const passedInStep = 8_192;

/**
 * The client's last message: all that stands before it is older. It has the results of tools since the last answer as long
 * as no words of the client follow them: programs go on after a refused result with a message behind it, also in the same
 * element. In APIs with all turns of a client in one element, its last text is the message, and texts before it may be
 * refused earlier ones.
 */
export class LastMessage {
  /** The elements up to the last answer. */
  readonly #answered: ReadonlySet<TextPlace>;
  /** The elements between the last answer and the last one of the client. */
  readonly #before: ReadonlySet<TextPlace>;
  readonly #element: TextPlace | null;
  /** The part with the last words of the client in their element; -1 without one. */
  readonly #words: number;
  readonly #rules: TextRules;

  private constructor(
    rules: TextRules,
    elements: readonly TextPlace[],
    { last, answered, words }: { last: number; answered: number; words: number },
  ) {
    this.#rules = rules;
    this.#answered = new Set(elements.slice(0, answered));
    this.#before = new Set(elements.slice(answered, Math.max(answered, last)));
    this.#element = elements[last] ?? null;
    this.#words = words;
  }

  /** Finds it in a whole document. */
  static *in({ elements, leaves }: TextWalk, rules: TextRules): Steps<LastMessage> {
    // System texts stand behind it in requests of some programs.
    const last = elements.findLastIndex(
      (place) => !rules.isOfModel(place) && place.kindOf('', rules) !== 'system',
    );
    const answered =
      1 + elements.slice(0, Math.max(0, last)).findLastIndex((place) => rules.isOfModel(place));
    let words = -1;
    for (const [passed, leaf] of leaves.entries()) {
      if (leaf.place.element === elements[last] && isOfWords(leaf, rules)) words = partOf(leaf.place);
      if (passed % passedInStep === passedInStep - 1) yield;
    }
    return new LastMessage(rules, elements, { last, answered, words });
  }

  /** Whether a member with text, or something unreadable (`member`: empty), stands before it. */
  isBehind({ place, member, kind }: { place: TextPlace; member: string; kind: GuardedText }): boolean {
    const { element } = place;
    if (element === null || kind === 'system') return false;
    if (this.#answered.has(element)) return true;
    const isResult = kind === 'tool_result';
    if (this.#before.has(element)) return !isResult || this.#words >= 0;
    if (element !== this.#element || partOf(place) >= this.#words) return false;
    return isResult || this.#rules.isTurnText?.(place, member) === true;
  }
}

/** Whether a leaf has words of the client: neither a result nor what only names something. */
function isOfWords({ place, member, type, from, until }: Leaf, rules: TextRules): boolean {
  const isEmpty = until - from <= 2;
  if (type !== 'string' || typeof member !== 'string' || place.reading !== null || isEmpty) return false;
  if (place.kindOf(member, rules) !== 'user') return false;
  return rules.isTurnText?.(place, member) ?? readingOf(place, member, rules) === 'text';
}

/** The part of an element that a place stands in; 0 for one beside the parts. */
function partOf(place: TextPlace): number {
  let part = 0;
  for (let at: TextPlace | null = place; at !== null && at !== place.element; at = at.parent)
    if (at.isOfList) part = at.index;
  return part;
}
