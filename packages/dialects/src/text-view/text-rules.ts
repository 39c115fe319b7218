import type { GuardedText } from '@gatehouse/contract/guardrail-rules';

/**
 * How the strings of a member are read:
 * - `text`: as text. So are strings of members without a rule.
 * - `fixed`: as text that must stay as it is, such as a name.
 * - `word`: a word of the API or an id. Read like `fixed` unless it has the form of one.
 * - `identity`: not at all, with everything inside: it identifies somebody or gives access, and no model gets it.
 * - `sealed`: not at all if it has the form of encrypted content or a signature, else like `fixed`.
 * - `data`: unreadable: a picture, sound, file, or an id of one.
 * - `file`: a file in base64 or in its address: as text if its type is one of texts, else unreadable.
 * - `values`: JSON of a tool: its strings and numbers are texts, its names fixed. A string of JSON with escapes is read like
 *   it, and so is the text of a result.
 * - `json`: the same in a string; `text` if it is no JSON.
 * - `repeat`: not at all, with everything inside: it repeats the texts beside it, and is left out once one of them changes.
 * - `schema`: a JSON schema: its descriptions and examples are texts, all other strings, numbers and names fixed, but bounds
 *   are not read.
 */
export type Reading =
  | 'text'
  | 'fixed'
  | 'word'
  | 'identity'
  | 'repeat'
  | 'sealed'
  | 'data'
  | 'file'
  | 'values'
  | 'json'
  | 'schema';

/**
 * The reading of a member in an object. For a list or an object as its value, the members behind it are not known yet: only
 * the places around it decide.
 */
export type MemberRule = Reading | ((around: TextPlace) => Reading);

/** The texts in documents of an API. Members without a rule are text, so a newer one is no hole. */
export interface TextRules {
  /** Rules by the names of members, wherever they stand outside of `values` and `schema`. Ids of any name are words. */
  readonly members: Readonly<Record<string, MemberRule>>;
  /** Other names of members of the API: they are no text themselves. */
  readonly names: ReadonlySet<string>;
  /** The list with the conversation. */
  readonly list: string;
  /** The kind of texts without another one. */
  readonly kind: GuardedText;
  /** The kind of a member's texts, or of everything in a place (`member`: empty); null for the kind of the place around it. */
  kindOf(place: TextPlace, member: string): GuardedText | null;
  /** Whether an element of the conversation is of the model. */
  isOfModel(place: TextPlace): boolean;
  /** Whether a member may be the whole text of a turn; absent where each turn of a client has its own element. */
  isTurnText?(place: TextPlace, member: string): boolean;
  /** Whether a place has reasoning with a signature. */
  isSigned(place: TextPlace): boolean;
  /**
   * Whether a member's text is not read: signed reasoning that comes back to the maker of the model, which wrote it and
   * verifies the signature. No member beside it and no place around it passes with it.
   */
  isSignedText(place: TextPlace, member: string): boolean;
  /**
   * Whether a member's text is reasoning, which may have a signature, in an answer: it comes back unread, or its signature is
   * checked as the model wrote it.
   */
  isThought(place: TextPlace, member: string): boolean;
  /** The value of a signature once its text changes, as JSON. */
  unsigned: 'null' | '""';
  /** The value of a repetition once its text changes, as JSON. */
  unrepeated: 'null' | '[]';
  /** Whether an object is a tool run by the provider, or a list of numbers has tokens. */
  isUnreadable(place: TextPlace): boolean;
  /** The usual spelling of a name, in APIs with several. */
  spelled?(name: string): string;
  /** The list of choices in an answer; absent in an API with one choice. */
  choices?: string;
  citations?: CitationRules | undefined;
}

/** How an API counts characters in the offsets of its citations: code points, or bytes of UTF-8. */
export type OffsetUnit = 'points' | 'bytes';

/** Offsets of citations in the text cited. */
interface CitationRules {
  /** The members with them; those of an end have `end` in their names. */
  offsets: ReadonlySet<string>;
  unit: OffsetUnit;
  /** The member beside them with the part of the text between them, if there is one. */
  excerpt?: string;
  /** The key of the text, by the place of an offset: the place of the text, with the API's own indexes of elements. */
  textKey(place: TextPlace): string;
}

/** The text of a frame in the texts of its stream. */
export interface ChannelPlace {
  key: string;
  /** Whether it is a whole text, which may repeat all pieces of the key before it. */
  isWhole?: boolean;
  /** The key of a text repeated by it if both are the same. */
  repeated?: string;
  /** Whether nothing belongs to it in other frames. */
  isApart?: boolean;
  /** Whether it is JSON with the arguments of a call. */
  isJson?: boolean;
  /** The key of another text of its kind. */
  kindKey?: string;
}

/** The texts in frames of a stream. */
export interface FrameRules extends TextRules {
  /** `key`: the place of the text in the frame. */
  channelOf(text: { place: TextPlace; member: string; key: string }): ChannelPlace;
  /** The beginning of the keys ended by a frame with this place; null for no end. */
  endedKeys(place: TextPlace): string | null;
  /** The member with characters of no meaning, which hide how long a text is. */
  padding?: string;
  /** The keys of texts signed by a signature in this place, beside those in the same place. */
  signedKeys(place: TextPlace): readonly string[];
}

/** The texts of an API's requests and answers, for `TextView`. */
export interface TextFormat {
  /** Also of requests for embeddings and counts. */
  readonly request: TextRules;
  readonly answer: TextRules;
  readonly frame: FrameRules;
}

/** An object or a list of a document, as far as it decides how the texts in it are read. */
export class TextPlace {
  readonly parent: TextPlace | null;
  /** The member that it is the value of; empty for an element of a list and for a whole document. */
  readonly name: string;
  /** Its place in a list. */
  readonly index: number;
  readonly isList: boolean;
  /** The reading of everything inside; null where each member has its rule. */
  readonly reading: Reading | null;
  /** Elements so far. */
  length = 0;
  /** Whether it is a list with numbers. */
  hasNumbers = false;
  /** The element of the conversation around it. */
  element: TextPlace | null;
  #signs: Map<string, string[]> | undefined;
  #path: Path | undefined;
  #key: string | undefined;
  #kind: GuardedText | undefined;

  constructor(
    parent: TextPlace | null,
    { name, index, isList, reading }: Pick<TextPlace, 'name' | 'index' | 'isList' | 'reading'>,
  ) {
    this.parent = parent;
    this.name = name;
    this.index = index;
    this.isList = isList;
    this.reading = reading;
    this.element = parent?.element ?? null;
  }

  /** The member that it stands in, also as an element of a list. */
  get memberName(): string {
    return this.parent?.isList === true ? this.parent.memberName : this.name;
  }

  /** The object around it, past a list. */
  get owner(): TextPlace | null {
    const { parent } = this;
    return parent?.isList === true ? parent.owner : parent;
  }

  /** Notes a part of a string by which others are read. */
  note(name: string, part: string): void {
    this.#signs ??= new Map();
    const noted = this.#signs.get(name);
    if (noted === undefined) this.#signs.set(name, [part]);
    else noted.push(part);
  }

  /** The noted part of a string; empty without one, and for two of the name: each reader chooses another one. */
  sign(name: string): string {
    const [part = '', ...others] = this.signs(name);
    return others.length === 0 ? part : '';
  }

  /** All noted ones of a name. */
  signs(name: string): readonly string[] {
    return this.#signs?.get(name) ?? [];
  }

  /** The document, an object. */
  get isRoot(): boolean {
    return this.parent?.parent === null;
  }

  /** The kind of the texts of a member; `member`: empty for those of an element. */
  kindOf(member: string, rules: TextRules): GuardedText {
    if (this.#kind !== undefined) return this.#kind;
    const kind =
      rules.kindOf(this, member) ??
      (this.parent === null ? rules.kind : this.parent.kindOf(this.isOfList ? '' : this.name, rules));
    if (this.isList || this.reading !== null) this.#kind = kind;
    return kind;
  }

  /** Its place in the document, with the API's own indexes of elements. */
  get key(): string {
    const { parent } = this;
    this.#key ??=
      parent === null
        ? ''
        : this.isOfList
          ? `${parent.key}[${this.#ownIndex}]`
          : joined(parent.key, this.name);
    return this.#key;
  }

  get #ownIndex(): string {
    const index = this.sign('index');
    return /^\d{1,6}$/.test(index) ? index : String(this.index);
  }

  /** The key of a member's text, or of an element's. */
  keyOf(member: string | number): string {
    return typeof member === 'number' ? `${this.key}[${member}]` : joined(this.key, member);
  }

  /** The document. */
  get root(): TextPlace {
    return this.isRoot || this.parent === null ? this : this.parent.root;
  }

  get isOfList(): boolean {
    return this.parent?.isList === true;
  }

  /** Whether it is an element of a list that is a member of `around`. */
  isElementOf(around: TextPlace | null, name: string): boolean {
    const { parent } = this;
    return parent?.isList === true && parent.name === name && parent.parent === around;
  }

  /** Whether it is a part of what the model said: an element of a list in an element of the conversation. */
  isPartOfModel(name: string, { list, isOfModel }: Pick<TextRules, 'list' | 'isOfModel'>): boolean {
    const { element } = this;
    return (
      element?.isElementOf(this.root, list) === true && isOfModel(element) && this.isElementOf(element, name)
    );
  }

  /**
   * The path of a member in it, or of an element, such as `messages[2].content`. It ends before the first name unknown to the
   * API, and before names in JSON of tools: those may be texts.
   */
  pathTo(member: string | number, rules: TextRules): string {
    const { path, isOpen } = this.#pathBy(rules);
    if (!isOpen) return path;
    if (typeof member === 'number') return `${path}[${member}]`;
    return isKnown(member, rules) ? joined(path, member) : path;
  }

  #pathBy(rules: TextRules): Path {
    if (this.#path !== undefined) return this.#path;
    const before = this.parent === null ? { path: '', isOpen: true } : this.parent.#pathBy(rules);
    this.#path = this.#pathBehind(before, rules);
    return this.#path;
  }

  #pathBehind(before: Path, rules: TextRules): Path {
    const isOpen = this.reading === null;
    if (!before.isOpen) return before;
    if (this.isOfList) return { path: `${before.path}[${this.index}]`, isOpen };
    if (this.name !== '' && !isKnown(this.name, rules)) return { path: before.path, isOpen: false };
    return { path: joined(before.path, this.name), isOpen };
  }
}

/** A path; `isOpen`: whether names behind it are the API's. */
interface Path {
  path: string;
  isOpen: boolean;
}

function joined(path: string, name: string): string {
  return path === '' || name === '' ? path + name : `${path}.${name}`;
}

/** The choice of a text outside of all choices. */
export const noChoice = -1;

/** The choice of an answer in which a place stands, by the API's own index of it. */
export function choiceOf({ key }: TextPlace, { choices = '' }: TextRules): number {
  if (choices === '') return 0;
  if (!key.startsWith(`${choices}[`)) return noChoice;
  return Number(key.slice(choices.length + 1, key.indexOf(']')));
}

/** Whether a string, or its beginning, has the form of encrypted content or a signature. */
export function isSealed(text: string): boolean {
  return /^[\w+/=.:~-]+$/.test(text);
}

/** Whether a name is one of the API's. */
export function isKnown(name: string, { members, names }: TextRules): boolean {
  return Object.hasOwn(members, name) || names.has(name);
}

/** A rule of members of the document itself; elsewhere a member of the name is text. */
export function atRoot(reading: Reading): MemberRule {
  return (around) => (around.isRoot ? reading : 'text');
}

/** Rules of members with the same reading. */
export function reads(reading: Reading, names: readonly string[]): Record<string, Reading> {
  return Object.fromEntries(names.map((name) => [name, reading]));
}
