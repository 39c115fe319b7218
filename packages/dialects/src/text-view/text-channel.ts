import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { OffsetUnit } from './text-rules.ts';
import type { TextChange } from './text-source.ts';

type Amounts = Record<OffsetUnit, number>;

const none: Amounts = { points: 0, bytes: 0 };

interface ChannelChange extends TextChange {
  /** The place of its beginning in the original text; null until the frame with it leaves. */
  at: Amounts | null;
  /** The part of the original text in its place, as far as it has left. */
  removed: Amounts;
}

/** The head of a text. */
export interface ChannelHead {
  readonly kind: GuardedText;
  /** Its place in the words of the API; never a name chosen by a client or a model. */
  readonly param: string;
  /** Whether it can't be rewritten. */
  readonly isFixed: boolean;
  /** The index of its choice in an answer, or `noChoice`. */
  readonly choice: number;
  /** Whether it is reasoning, which may have a signature. */
  readonly isThought?: boolean;
}

/**
 * One text of an answer, whose pieces arrive in several frames: an answer text, a refusal, reasoning, a string in the
 * arguments of a call, … Changes are in UTF-16 units of the whole text.
 */
export class TextChannel implements ChannelHead {
  readonly kind: GuardedText;
  readonly param: string;
  readonly isFixed: boolean;
  readonly choice: number;
  readonly isThought: boolean;
  /** Whether it is a number or a word of JSON, which a change makes a string. */
  readonly isBare: boolean;
  /** Units so far. */
  length = 0;
  /** Whether nothing more of it arrives. */
  isEnded = false;
  /** Whether nothing more arrives of all texts in the same string, such as the arguments of a call. */
  isComplete = false;
  readonly #changes: ChannelChange[] = [];
  #left = none;

  constructor({ kind, param, isFixed, choice, isThought = false }: ChannelHead, isBare = false) {
    this.kind = kind;
    this.param = param;
    this.isFixed = isFixed;
    this.choice = choice;
    this.isThought = isThought;
    this.isBare = isBare;
  }

  get isChanged(): boolean {
    return this.#changes.length > 0;
  }

  /**
   * Puts a text in the place of others, before frames with a part of them leave. A change with a known beginning makes an
   * earlier one longer. Changes must not overlap. Throws for a fixed text.
   */
  replace({ from, until, text }: TextChange): void {
    if (this.isFixed) throw new Error('a fixed text has been changed');
    const behind = this.#changes.findLastIndex((change) => change.from <= from);
    const before = this.#changes[behind];
    if (before?.from === from) before.until = Math.max(before.until, until);
    else this.#changes.splice(behind + 1, 0, { from, until, text, at: null, removed: none });
  }

  /** The changes of a part, in their order. */
  changesIn(from: number, until: number): readonly TextChange[] {
    return this.#in(from, until);
  }

  #in(from: number, until: number): ChannelChange[] {
    const list: ChannelChange[] = [];
    for (let index = this.#changes.length - 1; index >= 0; index -= 1) {
      const change = this.#changes[index];
      if (change === undefined || change.until <= from) break;
      if (change.from < until) list.push(change);
    }
    return list.reverse();
  }

  /** Counts a piece, as its frame leaves. */
  leave(from: number, value: string): void {
    if (this.isChanged)
      for (const change of this.#in(from, from + value.length)) {
        const [begin, end] = [Math.max(0, change.from - from), change.until - from];
        change.at ??= sum(this.#left, amountsOf(value.slice(0, begin)));
        change.removed = sum(change.removed, amountsOf(value.slice(begin, end)));
      }
    this.#left = sum(this.#left, amountsOf(value));
  }

  /** Whether an offset is within what a change replaces. */
  isCut(offset: number, unit: OffsetUnit): boolean {
    return this.#changes.some(
      ({ at, removed }) => at !== null && at[unit] < offset && offset < at[unit] + removed[unit],
    );
  }

  /** The offset of a character in the text with its changes. `isEnd`: the character is one behind a part. */
  shifted(offset: number, unit: OffsetUnit, isEnd: boolean): number {
    let shift = 0;
    for (const { at, removed, text } of this.#changes) {
      if (at === null || at[unit] >= offset) break;
      const [begin, end, added] = [at[unit], at[unit] + removed[unit], amountsOf(text)[unit]];
      if (end > offset) return begin + shift + (isEnd ? added : 0);
      shift += added - removed[unit];
    }
    return offset + shift;
  }
}

function sum(a: Amounts, b: Amounts): Amounts {
  return { points: a.points + b.points, bytes: a.bytes + b.bytes };
}

function amountsOf(text: string): Amounts {
  const bytes = Buffer.byteLength(text);
  return { bytes, points: bytes === text.length ? bytes : pointsOf(text) };
}

/** The second half of a surrogate pair may come in another piece, and counts nothing. */
function pointsOf(text: string): number {
  let points = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc_00) !== 0xdc_00) points += 1;
  return points;
}
