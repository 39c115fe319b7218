import { openBrace, smallBytes } from '@gatehouse/kit/json-bytes';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { editSteps, type Edit } from '../wire/json-edits.ts';
import type { Pieces } from '../wire/pieces.ts';
import { textsOfFile } from './file-texts.ts';
import { FixedTexts } from './fixed-texts.ts';
import { InnerJson, maxInnerDepth, mayBeEscapedJson } from './inner-json.ts';
import { LastMessage } from './last-message.ts';
import {
  SourceText,
  type Coding,
  type Document,
  type UnreadablePlace,
  type ViewText,
} from './source-text.ts';
import { formEdits, isOfForm } from './schema-forms.ts';
import { choiceOf, isSealed, TextPlace, type Reading, type TextRules } from './text-rules.ts';
import { TextChannel } from './text-channel.ts';
import type { TextChange } from './text-source.ts';
import { decoded, readingOf, TextWalk, type Leaf, type Repeat } from './text-walk.ts';

/** A change of one text of a view. */
export interface ViewChange extends TextChange {
  viewText: ViewText;
}

/** Changes of texts in earlier frames of a stream. */
export interface EarlierChanges {
  /** The text of a key. */
  channel(key: string): TextChannel | undefined;
  /** Whether the reasoning of a signature has changed. */
  isUnsigned(signature: TextPlace): boolean;
}

/** All texts of a document, and the places in it that nothing here can read. */
export class TextView {
  readonly texts: readonly SourceText[];
  readonly unreadable: readonly UnreadablePlace[];
  /** Its objects. */
  readonly places: readonly TextPlace[];
  readonly #body: Buffer;
  readonly #rules: TextRules;
  readonly #repeats: readonly Repeat[];
  readonly #offsets: readonly Leaf[];
  readonly #forms: ReadonlyMap<TextPlace, readonly Leaf[]>;

  private constructor(
    body: Buffer,
    rules: TextRules,
    { texts, unreadable, repeats, offsets, places, forms }: TextReader,
  ) {
    this.#body = body;
    this.#rules = rules;
    this.#repeats = repeats;
    this.#offsets = offsets;
    this.#forms = forms;
    this.texts = texts;
    this.unreadable = unreadable;
    this.places = places;
  }

  /**
   * `body`: valid JSON within `parsedAtOnce`. `grow`: is called with about the bytes of memory of the view, as it
   * takes them. It may throw.
   */
  static *read(body: Buffer, rules: TextRules, grow: Grow = () => undefined): Steps<TextView> {
    const reader = new TextReader(rules, grow);
    yield* reader.read(body);
    return new TextView(body, rules, reader);
  }

  /** Whether a change of another document may change this one. */
  get isBound(): boolean {
    return this.#offsets.length > 0 || this.#repeats.some(({ around }) => this.#rules.isSigned(around));
  }

  /**
   * The document with changes of its texts; every byte of other values stays. `movesForms`: formats and patterns in schemas
   * move to descriptions. Throws for a fixed text of no older message.
   */
  *rewritten(
    changes: readonly ViewChange[],
    { earlier, movesForms = false }: { earlier?: EarlierChanges; movesForms?: boolean } = {},
  ): Steps<Pieces> {
    const byText = Map.groupBy(changes, ({ viewText }) => viewText);
    const stream = earlier ?? new DocumentChanges(byText);
    const excerpts = this.#cutExcerpts(stream);
    const byDocument = new Map<SourceText | null, Edit[]>([[null, []]]);
    const changedPlaces = new Set<TextPlace>();
    let count = 0;
    const { free, fixed } = partedByFixed(byText);
    const replaced = yield* FixedTexts.in(this.texts, fixed);
    for (const [text, list] of [...free, ...replaced.changes]) {
      if ((count += 1) % changedInStep === 0) yield;
      if (excerpts.has(text) || replaced.isReplaced(text)) continue;
      const edits = byDocument.get(text.outer) ?? [];
      for (const edit of text.edits(list)) edits.push(edit);
      byDocument.set(text.outer, edits);
      for (let place: TextPlace | null = text.place; place !== null; place = place.parent)
        changedPlaces.add(place);
    }
    for (let depth = maxInnerDepth; depth > 0; depth -= 1)
      for (const [outer, inner] of byDocument) {
        if (outer?.depth !== depth) continue;
        const around = byDocument.get(outer.outer) ?? [];
        for (const edit of outer.editsInside(inner)) around.push(edit);
        byDocument.set(outer.outer, around);
        yield;
      }
    const edits = byDocument.get(null) ?? [];
    for (const { around, from: at, until, replacement } of this.#repeats)
      if (changedPlaces.has(around) || earlier?.isUnsigned(around) === true)
        edits.push({ at, until, text: replacement });
    for (const edit of this.#offsetEdits(stream)) edits.push(edit);
    if (movesForms) yield* this.#moveForms(edits);
    for (const { from: at, until } of excerpts) edits.push({ at, until, text: '""' });
    yield;
    return yield* editSteps(this.#body, edits);
  }

  *#moveForms(edits: Edit[]): Steps<void> {
    let count = 0;
    for (const leaves of this.#forms.values()) {
      if ((count += 1) % changedInStep === 0) yield;
      for (const edit of formEdits(this.#body, leaves)) edits.push(edit);
    }
  }

  /** Excerpts with a beginning or end within a replaced text: they have a part of it. */
  #cutExcerpts(changes: Pick<EarlierChanges, 'channel'>): Set<SourceText> {
    const { citations } = this.#rules;
    const cut = new Set<TextPlace>();
    if (citations?.excerpt === undefined) return new Set();
    for (const { place, from, until } of this.#offsets) {
      const offset = Number(this.#body.toString('latin1', from, until));
      if (changes.channel(citations.textKey(place))?.isCut(offset, citations.unit) === true) cut.add(place);
    }
    const isCut = ({ place, member }: SourceText): boolean => member === citations.excerpt && cut.has(place);
    return new Set(cut.size === 0 ? [] : this.texts.filter(isCut));
  }

  *#offsetEdits(changes: Pick<EarlierChanges, 'channel'>): Generator<Edit> {
    const { citations } = this.#rules;
    if (citations === undefined) return;
    for (const { place, member, from: at, until } of this.#offsets) {
      const channel = changes.channel(citations.textKey(place));
      const offset = Number(this.#body.toString('latin1', at, until));
      if (channel?.isChanged === true && Number.isSafeInteger(offset))
        yield {
          at,
          until,
          text: String(channel.shifted(offset, citations.unit, /end/i.test(String(member)))),
        };
    }
  }
}

type ChangesByText = Map<SourceText, readonly ViewChange[]>;

/** Throws for a fixed text of no older message. */
function partedByFixed(byText: ReadonlyMap<ViewText, readonly ViewChange[]>): {
  free: ChangesByText;
  fixed: ChangesByText;
} {
  const [free, fixed]: [ChangesByText, ChangesByText] = [new Map(), new Map()];
  for (const [text, changes] of byText) {
    if (!(text instanceof SourceText) || (text.isFixed && !text.isOlder))
      throw new Error('a fixed text has been changed');
    (text.isFixed ? fixed : free).set(text, changes);
  }
  return { free, fixed };
}

/** The changed texts of one document, by their keys. */
class DocumentChanges {
  readonly #byText: ReadonlyMap<ViewText, readonly ViewChange[]>;
  #channels: Map<string, TextChannel> | undefined;

  constructor(byText: ReadonlyMap<ViewText, readonly ViewChange[]>) {
    this.#byText = byText;
  }

  channel(key: string): TextChannel | undefined {
    this.#channels ??= new Map(this.#changed());
    return this.#channels.get(key);
  }

  *#changed(): Generator<[string, TextChannel]> {
    for (const [text, changes] of this.#byText) {
      if (!(text instanceof SourceText) || text.outer !== null) continue;
      const channel = new TextChannel(text);
      for (const change of changes) channel.replace(change);
      channel.leave(0, text.value);
      yield [text.place.keyOf(text.member), channel];
    }
  }
}

/** Counts bytes of memory. */
export type Grow = (bytes: number) => void;

/** So many texts are read in a step, or so many bytes of them, which takes a few milliseconds. */
const addedInStep = 1_024;
const addedBytes = smallBytes;

/** So many texts are changed in a step. */
const changedInStep = 1_024;

/** About the bytes of memory of an object or a list of a document, of a text, and of each byte of JSON with texts. */
const memory = { place: 200, text: 300, byte: 2 };

const word = /^[\w.:/+=-]{0,512}$/;

/** Whether a string has the form of a word of an API or an id. */
export function isWord(text: string): boolean {
  return word.test(text);
}

class TextReader {
  readonly texts: SourceText[] = [];
  readonly unreadable: UnreadablePlace[] = [];
  readonly repeats: Repeat[] = [];
  /** Formats, patterns and descriptions in schemas, by their objects. */
  readonly forms = new Map<TextPlace, Leaf[]>();
  offsets: readonly Leaf[] = [];
  places: readonly TextPlace[] = [];
  readonly #rules: TextRules;
  readonly #grow: Grow;
  readonly #inner = new InnerJson();
  #lastMessage: LastMessage | null = null;

  constructor(rules: TextRules, grow: Grow) {
    this.#rules = rules;
    this.#grow = grow;
  }

  *read(body: Buffer): Steps<void> {
    const around = new TextPlace(null, { name: '', index: -1, isList: false, reading: null });
    const walk = new TextWalk(body, this.#rules, around, Math.max(0, body.indexOf(openBrace)));
    yield* this.#walk(walk, body);
    for (const repeat of walk.repeats) this.repeats.push(repeat);
    this.offsets = walk.offsets;
    this.places = walk.places;
    this.#lastMessage = yield* LastMessage.in(walk, this.#rules);
    yield* this.#addAll({ json: body, outer: null }, walk.leaves);
    for (const place of walk.places)
      if (this.#rules.isUnreadable(place)) this.unreadable.push(this.#placeOf({ place, member: '' }));
  }

  *#walk(walk: TextWalk, { length }: Buffer): Steps<void> {
    this.#grow(memory.byte * length);
    let [isEnd, known] = [false, 0];
    while (!isEnd) {
      isEnd = walk.step();
      const bytes = memory.place * walk.opened + memory.text * walk.leaves.length;
      this.#grow(bytes - known);
      known = bytes;
      yield;
    }
  }

  *#addAll(document: Document, leaves: readonly Leaf[]): Steps<void> {
    let [count, bytes] = [0, 0];
    for (const leaf of leaves) {
      const outer = this.#add(document, leaf);
      if (outer !== null) yield* this.#addInner(outer, leaf);
      count += 1;
      bytes += leaf.until - leaf.from;
      if (count < addedInStep && bytes < addedBytes) continue;
      yield;
      [count, bytes] = [0, 0];
    }
  }

  /** Returns a string with JSON still to be read; null without one. */
  #add(document: Document, leaf: Leaf): SourceText | null {
    const { json } = document;
    const { place, member, from, until, type } = leaf;
    if (document.outer === null && place.reading === 'schema' && isOfForm(leaf))
      this.forms.set(place, [...(this.forms.get(place) ?? []), leaf]);
    if (type === 'string')
      return typeof member === 'string' && this.#rules.isSignedText(place, member)
        ? null
        : this.#addString(document, leaf, this.#readingOf(leaf));
    const isName = type === 'name';
    const value = isName ? decoded(json, from, until) : json.toString('latin1', from, until);
    const isFixed = isName || this.#readingOf(leaf) === 'fixed';
    this.#addText(document, leaf, { value, isFixed, coding: isName ? 'string' : 'number' });
    return null;
  }

  #addString(document: Document, leaf: Leaf, reading: Reading): SourceText | null {
    if (reading === 'identity' || reading === 'repeat') return null;
    if (reading === 'data') {
      this.unreadable.push(this.#placeOf(leaf));
      return null;
    }
    const value = decoded(document.json, leaf.from, leaf.until);
    switch (reading) {
      case 'word':
      case 'sealed':
        if (!(reading === 'word' ? isWord(value) : isSealed(value)))
          this.#addText(document, leaf, { value, isFixed: true });
        else if (reading === 'sealed') this.#addSignature(document, leaf);
        return null;
      case 'file':
        this.#addFile(document, leaf, value);
        return null;
      case 'json':
        return this.#text(document, leaf, { value, isFixed: false });
      case 'text':
      case 'values':
        if (this.#isOuter(document, leaf, value))
          return this.#text(document, leaf, { value, isFixed: false });
        break;
      case 'fixed':
      case 'schema':
        break;
    }
    this.#addText(document, leaf, { value, isFixed: reading === 'fixed' });
    return null;
  }

  /** Whether a string of a tool may have JSON with escapes, which would hide its texts. */
  #isOuter({ outer }: Document, leaf: Leaf, value: string): boolean {
    if (!mayBeEscapedJson(value) || (outer?.depth ?? 0) >= maxInnerDepth) return false;
    return leaf.place.reading === 'values' || this.#placeOf(leaf).kind === 'tool_result';
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

  #addFile(document: Document, leaf: Leaf, source: string): void {
    const { place } = leaf;
    const types = [...place.signs('media_type'), ...place.signs('mimeType')];
    const names = [...place.signs('filename'), ...place.signs('displayName')];
    const { texts, isUnreadable } = textsOfFile({ source, types, names });
    if (isUnreadable) this.unreadable.push(this.#placeOf(leaf));
    for (const text of texts) this.#addText(document, leaf, { ...text, coding: 'file' });
    // Readers differ in which one of two types counts: it may be a text.
    if (place.signs('type').length > 1) this.#addText(document, leaf, { value: source, isFixed: true });
  }

  /** Adds the texts of JSON in a string: the string itself without any. */
  *#addInner(outer: SourceText, leaf: Leaf): Steps<void> {
    const { json, isTooMuch } = yield* this.#inner.documentIn(outer.value);
    if (isTooMuch) this.unreadable.push(this.#placeOf(leaf));
    if (json === null) {
      if (outer.value !== '') this.texts.push(outer);
      return;
    }
    const walk = new TextWalk(json, this.#rules, outer.placeInside);
    yield* this.#walk(walk, json);
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
    return new SourceText(document, leaf, { ...this.#placeOf(leaf), value, isFixed, coding });
  }

  #placeOf({ place, member }: Pick<Leaf, 'place' | 'member'>): UnreadablePlace {
    const name = typeof member === 'string' ? member : '';
    const kind = place.kindOf(name, this.#rules);
    const isOlder = this.#lastMessage?.isBehind({ place, member: name, kind }) ?? false;
    return {
      ...{ kind, param: place.pathTo(member, this.#rules), isOlder },
      choice: choiceOf(place, this.#rules),
    };
  }
}

/** Members of a schema with words for a model. */
const schemaTexts: ReadonlySet<string> = new Set([
  ...['description', 'title', '$comment', 'default', 'example', 'examples'],
]);
