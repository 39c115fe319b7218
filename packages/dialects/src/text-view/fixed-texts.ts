import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { SourceText } from './source-text.ts';
import type { TextPlace } from './text-rules.ts';
import { changed, type TextChange } from './text-source.ts';
import type { Leaf } from './text-walk.ts';

/** So many texts are passed in a step. */
const passedInStep = 8_192;

/** A word replaces a name or an id: APIs take no brackets in them. */
const maxWordChars = 40;

/**
 * Changes of fixed texts in messages before the last one: nothing acts on them any more. Names in JSON have the changes and
 * stay distinct in their object. Others are replaced as a whole: a value has the same word in all places, so a call and its
 * result stay a pair.
 */
export class FixedTexts {
  readonly #changes = new Map<SourceText, readonly TextChange[]>();
  readonly #replaced = new Map<Leaf, SourceText>();
  readonly #words = new Map<string, string>();
  readonly #names = new Map<TextPlace, Set<string>>();
  /** The last number behind a placeholder. */
  readonly #numbers = new Map<string, number>();

  /** `texts`: all of a document. `byText`: the changes of its fixed texts. */
  static *in(
    texts: readonly SourceText[],
    byText: ReadonlyMap<SourceText, readonly TextChange[]>,
  ): Steps<FixedTexts> {
    const fixed = new FixedTexts();
    if (byText.size === 0) return fixed;
    for (const [passed, text] of texts.entries()) {
      if (text.isName) fixed.#namesIn(text.place).add(text.value);
      if (passed % passedInStep === passedInStep - 1) yield;
    }
    for (const [passed, [text, changes]] of [...byText].entries()) {
      fixed.#add(text, changes);
      if (passed % passedInStep === passedInStep - 1) yield;
    }
    for (const [passed, text] of texts.entries()) {
      const word = fixed.#words.get(text.value);
      if (word !== undefined && text.isFixed && !text.isName && text.kind !== 'system')
        fixed.#replace(text, word);
      if (passed % passedInStep === passedInStep - 1) yield;
    }
    return fixed;
  }

  get changes(): ReadonlyMap<SourceText, readonly TextChange[]> {
    return this.#changes;
  }

  /** Whether all of a value is replaced by a change of another text in it, such as a file in another charset. */
  isReplaced(text: SourceText): boolean {
    const replaced = this.#replaced.get(text.leaf);
    return replaced !== undefined && replaced !== text;
  }

  #add(text: SourceText, changes: readonly TextChange[]): void {
    const [first] = changes;
    if (first === undefined) return;
    if (text.isName) this.#rename(text, changed(text.value, changes));
    else if (!this.#words.has(text.value)) this.#words.set(text.value, this.#wordFor(first.text));
  }

  #rename(text: SourceText, name: string): void {
    const names = this.#namesIn(text.place);
    let distinct = name;
    while (names.has(distinct)) distinct = `${name} ${this.#next(name)}`;
    names.add(distinct);
    this.#changes.set(text, [{ from: 0, until: text.value.length, text: distinct }]);
  }

  #replace(text: SourceText, word: string): void {
    if (this.#replaced.has(text.leaf)) return;
    this.#replaced.set(text.leaf, text);
    this.#changes.set(text, [{ from: 0, until: text.value.length, text: word }]);
  }

  #wordFor(placeholder: string): string {
    const word = placeholder.replaceAll(/\W+/g, '').slice(0, maxWordChars);
    return `${word}_${this.#next(word)}`;
  }

  #next(placeholder: string): number {
    const number = (this.#numbers.get(placeholder) ?? 0) + 1;
    this.#numbers.set(placeholder, number);
    return number;
  }

  #namesIn(place: TextPlace): Set<string> {
    const names = this.#names.get(place) ?? new Set();
    this.#names.set(place, names);
    return names;
  }
}
