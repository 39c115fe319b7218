import { isUtf8 } from 'node:buffer';
import { openBrace } from '@gatehouse/kit/json-bytes';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { JsonScan, parsedAtOnce } from '@gatehouse/kit/json-scan';
import { parsedBytes } from '../bounds.ts';
import { dataAddress, isTextFile } from '../file-types.ts';
import { applyEdits, type Edit } from '../wire/json-edits.ts';
import type { Pieces } from '../wire/pieces.ts';
import { isSealed, TextPlace, type Reading, type TextKind, type TextRules } from './text-rules.ts';
import { changed, sourceEdits, type TextChange } from './text-source.ts';
import { decoded, readingOf, TextWalk, type Leaf, type Repeat } from './text-walk.ts';

/** A text of a document, as a model or a person reads it. */
export interface ViewText {
  readonly kind: TextKind;
  /** Its place in the words of the API, such as `messages[2].content`; never a name chosen by a client or a model. */
  readonly param: string;
  readonly value: string;
  /** Whether it can be rewritten: names, words of the API and values of schemas can't. */
  readonly isFixed: boolean;
  /** Whether it is of a message before the client's last one. */
  readonly isOlder: boolean;
}

/** A change of one text of a view. */
export interface ViewChange extends TextChange {
  viewText: ViewText;
}

/** All texts of a document, and the places in it that nothing here can read. */
export class TextView {
  readonly texts: readonly ViewText[];
  /** Paths of pictures, sounds, files, tokens and tools of the provider. */
  readonly unreadable: readonly string[];
  readonly #body: Buffer;
  readonly #repeats: readonly Repeat[];

  private constructor(body: Buffer, { texts, unreadable, repeats }: TextReader) {
    this.#body = body;
    this.texts = texts;
    this.unreadable = unreadable;
    this.#repeats = repeats;
  }

  /** `body`: valid JSON within `parsedAtOnce`. */
  static *read(body: Buffer, rules: TextRules): Steps<TextView> {
    const reader = new TextReader(rules);
    yield* reader.read(body);
    return new TextView(body, reader);
  }

  /** The document with changes of its texts; every byte of other values stays. Throws for a fixed text. */
  rewritten(changes: readonly ViewChange[]): Pieces {
    const byDocument = new Map<SourceText | null, Edit[]>([[null, []]]);
    const changedPlaces = new Set<TextPlace>();
    for (const [text, list] of Map.groupBy(changes, ({ viewText }) => viewText)) {
      if (!(text instanceof SourceText) || text.isFixed) throw new Error('a fixed text has been changed');
      const edits = byDocument.get(text.outer) ?? [];
      for (const edit of text.edits(list)) edits.push(edit);
      byDocument.set(text.outer, edits);
      for (let place: TextPlace | null = text.place; place !== null; place = place.parent)
        changedPlaces.add(place);
    }
    const edits: Edit[] = [];
    for (const [outer, inner] of byDocument)
      for (const edit of outer?.editsInside(inner) ?? inner) edits.push(edit);
    for (const { around, from: at, until, replacement } of this.#repeats)
      if (changedPlaces.has(around)) edits.push({ at, until, text: replacement });
    return applyEdits(this.#body, edits);
  }
}

type Coding = 'string' | 'number' | 'file' | 'json';

/** A text and its source. */
class SourceText implements ViewText {
  readonly kind: TextKind;
  readonly param: string;
  readonly value: string;
  readonly isFixed: boolean;
  readonly isOlder: boolean;
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

  get place(): TextPlace {
    return this.#leaf.place;
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
      case 'json':
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
    const source = decoded(this.#json, this.#leaf.from, this.#leaf.until);
    return (dataAddress(source)?.begin ?? '') + Buffer.from(text).toString('base64');
  }
}

interface Document {
  json: Buffer;
  outer: SourceText | null;
}

/** So many texts are read in a step, which takes a few milliseconds. */
const addedInStep = 1_024;

/** Strings in the form of a word of an API or an id. */
const word = /^[\w.:/+=-]{0,512}$/;

class TextReader {
  readonly texts: SourceText[] = [];
  readonly unreadable: string[] = [];
  readonly repeats: Repeat[] = [];
  readonly #rules: TextRules;
  #older: ReadonlySet<TextPlace> = new Set();

  constructor(rules: TextRules) {
    this.#rules = rules;
  }

  *read(body: Buffer): Steps<void> {
    const around = new TextPlace(null, { name: '', index: -1, isList: false, reading: null });
    const walk = new TextWalk(body, this.#rules, around, Math.max(0, body.indexOf(openBrace)));
    while (!walk.step()) yield;
    for (const repeat of walk.repeats) this.repeats.push(repeat);
    this.#older = new Set(olderOf(walk.elements, this.#rules));
    yield* this.#addAll({ json: body, outer: null }, walk.leaves);
    for (const place of walk.places)
      if (this.#rules.isUnreadable(place)) this.unreadable.push(place.pathTo('', this.#rules));
  }

  *#addAll(document: Document, leaves: readonly Leaf[]): Steps<void> {
    for (const [index, leaf] of leaves.entries()) {
      const inner = this.#add(document, leaf);
      if (inner !== null) yield* this.#addInner(inner);
      if (index % addedInStep === 0) yield;
    }
  }

  /** Returns the JSON in a string, which is still to be read; null without one. */
  #add(document: Document, leaf: Leaf): SourceText | null {
    const { json } = document;
    const { place, from, until, type } = leaf;
    if (type === 'string')
      return this.#rules.passesSigned && place.isSignedBy(this.#rules)
        ? null
        : this.#addString(document, leaf, this.#readingOf(leaf));
    const isName = type === 'name';
    const value = isName ? decoded(json, from, until) : json.toString('latin1', from, until);
    this.#addText(document, leaf, { value, isFixed: isName, coding: isName ? 'string' : 'number' });
    return null;
  }

  #addString(document: Document, leaf: Leaf, reading: Reading): SourceText | null {
    if (reading === 'identity' || reading === 'repeat') return null;
    if (reading === 'data') {
      this.unreadable.push(this.#pathOf(leaf));
      return null;
    }
    const value = decoded(document.json, leaf.from, leaf.until);
    switch (reading) {
      case 'word':
      case 'sealed':
        if (!(reading === 'word' ? word.test(value) : isSealed(value)))
          this.#addText(document, leaf, { value, isFixed: true });
        else if (reading === 'sealed') this.#addSignature(document, leaf);
        return null;
      case 'file':
        this.#addFile(document, leaf, value);
        return null;
      case 'json':
        if (document.outer === null && isJson(value))
          return this.#text(document, leaf, { value, isFixed: false, coding: 'json' });
        break;
      case 'fixed':
      case 'text':
      case 'values':
      case 'schema':
        break;
    }
    this.#addText(document, leaf, { value, isFixed: reading === 'fixed' });
    return null;
  }

  #addSignature({ outer }: Document, { place, from, until }: Leaf): void {
    if (outer === null && this.#rules.isSigned(place))
      this.repeats.push({ around: place, from, until, replacement: this.#rules.unsigned });
  }

  #readingOf({ place, member }: Leaf): Reading {
    const { reading } = place;
    const name = typeof member === 'string' ? member : place.memberName;
    if (reading === 'schema') return schemaTexts.has(name) ? 'text' : name === 'type' ? 'word' : 'fixed';
    if (reading !== null) return reading;
    const owner = place.isList ? place.owner : place;
    return owner === null ? 'text' : readingOf(owner, name, this.#rules);
  }

  /** A file in base64 is a text if its type is one of texts, and its bytes are in UTF-8. */
  #addFile(document: Document, leaf: Leaf, source: string): void {
    const begin = dataAddress(source)?.begin ?? '';
    const { place } = leaf;
    const stated = place.sign('media_type') + place.sign('mimeType');
    const typed = begin === '' && stated !== '' ? `data:${stated};base64,${source}` : source;
    const bytes = isTextFile(typed, place.sign('filename') + place.sign('displayName'))
      ? Buffer.from(source.slice(begin.length), 'base64')
      : null;
    if (bytes === null || !isUtf8(bytes)) this.unreadable.push(this.#pathOf(leaf));
    else this.#addText(document, leaf, { value: bytes.toString(), isFixed: false, coding: 'file' });
  }

  /** Adds the texts in a string of JSON. */
  *#addInner(outer: SourceText): Steps<void> {
    const json = Buffer.from(outer.value);
    const walk = new TextWalk(json, this.#rules, outer.placeInside);
    while (!walk.step()) yield;
    yield* this.#addAll({ json, outer }, walk.leaves);
  }

  #addText(
    document: Document,
    leaf: Leaf,
    text: Pick<ViewText, 'value' | 'isFixed'> & { coding?: Coding },
  ): void {
    if (text.value !== '') this.texts.push(this.#text(document, leaf, text));
  }

  #text(
    document: Document,
    leaf: Leaf,
    { value, isFixed, coding = 'string' }: Pick<ViewText, 'value' | 'isFixed'> & { coding?: Coding },
  ): SourceText {
    const member = typeof leaf.member === 'string' ? leaf.member : '';
    const { place } = leaf;
    const kind = place.kindOf(member, this.#rules);
    const isOlder = kind !== 'system' && place.element !== null && this.#older.has(place.element);
    return new SourceText(document, leaf, {
      ...{ kind, param: this.#pathOf(leaf), value, isFixed, isOlder, coding },
    });
  }

  #pathOf({ place, member }: Leaf): string {
    return place.pathTo(member, this.#rules);
  }
}

/** Members of a schema with words for a model. */
const schemaTexts: ReadonlySet<string> = new Set([
  ...['description', 'title', '$comment', 'default', 'example', 'examples'],
]);

/** Whether a text is an object or a list in JSON, soon to be read. */
function isJson(value: string): boolean {
  if (value.length > parsedBytes || !/^\s*[[{]/.test(value)) return false;
  if (JsonScan.exceeds(Buffer.from(value), parsedAtOnce) !== undefined) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

/** The elements before the client's last message with its results of tools. */
function olderOf(elements: readonly TextPlace[], rules: TextRules): TextPlace[] {
  const isOfClient = (place: TextPlace): boolean => !rules.isOfModel(place);
  const last = elements.findLastIndex(isOfClient);
  const before = elements.slice(0, last + 1).findLastIndex((place) => !isOfClient(place));
  return elements.slice(0, before + 1);
}
