import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { Edit } from '../wire/json-edits.ts';
import { sourceWithText } from './file-texts.ts';
import { TextPlace } from './text-rules.ts';
import { changed, sourceEdits, type TextChange } from './text-source.ts';
import { decoded, type Leaf } from './text-walk.ts';

/** A text of a document, as a model or a person reads it. */
export interface ViewText {
  readonly kind: GuardedText;
  /** Its place in the words of the API, such as `messages[2].content`; never a name chosen by a client or a model. */
  readonly param: string;
  readonly value: string;
  /** Whether it must stay as it is in the last message: names, words of the API and values of schemas. */
  readonly isFixed: boolean;
  /** Whether it is of a message before the client's last one. */
  readonly isOlder: boolean;
  /** The index of its choice in an answer, or `noChoice`. */
  readonly choice: number;
}

/** A part of a document without a text here: a picture, a sound, a file, tokens or a tool of the provider. */
export type UnreadablePlace = Pick<ViewText, 'kind' | 'param' | 'isOlder' | 'choice'>;

/** A document, or the JSON in one of its strings. */
export interface Document {
  json: Buffer;
  outer: SourceText | null;
}

/** How a text is written in its document. */
export type Coding = 'string' | 'number' | 'file';

/** A text and its source. */
export class SourceText implements ViewText {
  readonly kind: GuardedText;
  readonly param: string;
  readonly value: string;
  readonly isFixed: boolean;
  readonly isOlder: boolean;
  readonly choice: number;
  /** The string of JSON that it stands in; null for a text of the document itself. */
  readonly outer: SourceText | null;
  readonly #json: Buffer;
  readonly #leaf: Leaf;
  readonly #coding: Coding;

  constructor({ json, outer }: Document, leaf: Leaf, text: ViewText & { coding: Coding }) {
    this.#json = json;
    this.outer = outer;
    this.#leaf = leaf;
    this.kind = text.kind;
    this.param = text.param;
    this.value = text.value;
    this.isFixed = text.isFixed;
    this.isOlder = text.isOlder;
    this.choice = text.choice;
    this.#coding = text.coding;
  }

  /** The place of the JSON in it. */
  get placeInside(): TextPlace {
    const { place, member } = this.#leaf;
    return new TextPlace(place, {
      name: typeof member === 'string' ? member : '',
      index: typeof member === 'number' ? member : -1,
      isList: false,
      reading: 'values',
    });
  }

  /** The number of documents around it. */
  get depth(): number {
    return this.outer === null ? 1 : this.outer.depth + 1;
  }

  get leaf(): Leaf {
    return this.#leaf;
  }

  get place(): TextPlace {
    return this.#leaf.place;
  }

  /** Its member or its index in a list; empty for a name. */
  get member(): string | number {
    return this.#leaf.member;
  }

  /** Its place in its document, with its quote. */
  get from(): number {
    return this.#leaf.from;
  }

  get until(): number {
    return this.#leaf.until;
  }

  get isName(): boolean {
    return this.#leaf.type === 'name';
  }

  /** Edits of the document that it stands in. */
  edits(changes: readonly TextChange[]): Edit[] {
    const { from, until } = this.#leaf;
    switch (this.#coding) {
      case 'number':
        return [{ at: from, until, text: JSON.stringify(changed(this.value, changes)) }];
      case 'file':
        return [{ at: from, until, text: JSON.stringify(this.#encoded(changed(this.value, changes))) }];
      case 'string':
        return sourceEdits(this.#json, { from, until, value: this.value }, changes);
    }
  }

  /** The same for edits of the JSON in it. */
  editsInside(inner: readonly Edit[]): Edit[] {
    const json = Buffer.from(this.value);
    let [at, units] = [0, 0];
    const unitsAt = (place: number): number => {
      units += json.toString('utf8', at, place).length;
      at = place;
      return units;
    };
    const changes = inner
      .toSorted((a, b) => a.at - b.at)
      .map((edit) => ({
        from: unitsAt(edit.at),
        until: unitsAt(edit.until),
        text: [edit.text].flat().join(''),
      }));
    return this.edits(changes);
  }

  #encoded(text: string): string {
    return sourceWithText(decoded(this.#json, this.#leaf.from, this.#leaf.until), text);
  }
}
