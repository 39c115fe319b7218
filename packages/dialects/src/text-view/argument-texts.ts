import { maxArgumentSteps, maxArgumentTexts } from '../bounds.ts';

/** Characters of a string, a number or a name in JSON that arrives in pieces. */
export interface ArgumentText {
  /** Counts the strings, numbers and names of the JSON. */
  index: number;
  /** `bare`: a number or a word outside of strings. */
  type: 'string' | 'name' | 'bare';
  value: string;
  /** Its source in the piece, in UTF-16 units; for an escape begun in an earlier piece, the rest of it. */
  from: number;
  until: number;
  isEnd: boolean;
}

type State = 'plain' | 'string' | 'bare' | 'text';

/** Escapes of one letter (RFC 8259, section 7). */
const escapes: Readonly<Partial<Record<string, string>>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};

/** Characters outside of strings, without a text. */
const punctuation: ReadonlySet<string> = new Set(' \n\r\t{}[]:,"');

/** Deeper arguments are read as one text. */
const maxDepth = 200;

/**
 * Reads the arguments of a call while they arrive, in pieces of any length. Text that is no JSON is one string: models write
 * any text, and inputs of freeform tools are texts.
 */
export class ArgumentTexts {
  #state: State | null = null;
  #index = 0;
  #isJson = false;
  /** The unfinished escape. */
  #escape = '';
  #openFrom: number | null = null;
  /** The objects and lists around, by their opening brackets. */
  readonly #open: string[] = [];
  /** Whether the next string is a name. */
  #awaitsName = false;
  #isName = false;

  /** The place in the last piece of an unfinished escape; null without one. */
  get openFrom(): number | null {
    return this.#openFrom;
  }

  /** Whether it has the form of JSON, in which texts are escaped. */
  get isJson(): boolean {
    return this.#isJson;
  }

  /** The texts of a piece, in their order. */
  read(piece: string): ArgumentText[] {
    const texts: ArgumentText[] = [];
    this.#openFrom = null;
    for (let [at, steps] = [0, 0]; at < piece.length; steps += 1) {
      if (steps > maxArgumentSteps) throw new Error('the arguments of a call have too much JSON');
      at = this.#next(piece, at, texts);
    }
    return texts;
  }

  #next(piece: string, at: number, texts: ArgumentText[]): number {
    this.#state ??= this.#firstState(piece[at] ?? '');
    switch (this.#state) {
      case null:
        return at + 1;
      case 'text':
        texts.push({ ...this.#head('string'), value: piece.slice(at), from: at, until: piece.length });
        return piece.length;
      case 'string':
        return this.#inString(piece, at, texts);
      case 'bare':
      case 'plain':
        return this.#outside(piece, at, texts);
    }
  }

  #firstState(first: string): State | null {
    if (/\s/.test(first)) return null;
    this.#isJson = first === '{' || first === '[';
    return this.#isJson ? 'plain' : 'text';
  }

  #inString(piece: string, at: number, texts: ArgumentText[]): number {
    const type = this.#isName ? 'name' : 'string';
    if (this.#escape !== '' || piece[at] === '\\') return this.#inEscape(piece, at, texts);
    if (piece[at] === '"') {
      texts.push({ ...this.#head(type), value: '', from: at, until: at, isEnd: true });
      this.#end();
      return at + 1;
    }
    let until = at;
    while (until < piece.length && piece[until] !== '"' && piece[until] !== '\\') until += 1;
    texts.push({ ...this.#head(type), value: piece.slice(at, until), from: at, until });
    return until;
  }

  #inEscape(piece: string, at: number, texts: ArgumentText[]): number {
    let until = at;
    do {
      this.#escape += piece[until] ?? '';
      until += 1;
    } while (until < piece.length && !isWhole(this.#escape));
    if (!isWhole(this.#escape)) {
      this.#openFrom = at;
      return until;
    }
    const value = unitOf(this.#escape);
    this.#escape = '';
    texts.push({ ...this.#head(this.#isName ? 'name' : 'string'), value, from: at, until });
    return until;
  }

  #outside(piece: string, at: number, texts: ArgumentText[]): number {
    const space = spaceEnd(piece, at);
    if (space > at && this.#state === 'plain') return space;
    const character = piece[at] ?? '';
    if (!punctuation.has(character)) {
      let until = at + 1;
      while (until < piece.length && !punctuation.has(piece[until] ?? '')) until += 1;
      this.#state = 'bare';
      texts.push({ ...this.#head('bare'), value: piece.slice(at, until), from: at, until });
      return until;
    }
    if (this.#state === 'bare') {
      texts.push({ ...this.#head('bare'), value: '', from: at, until: at, isEnd: true });
      this.#end();
    }
    this.#pass(character);
    return at + 1;
  }

  #pass(character: string): void {
    if (character === '"') {
      this.#isName = this.#awaitsName;
      this.#state = 'string';
    } else if (character === '{' || character === '[') {
      this.#open.push(character);
      if (this.#open.length > maxDepth) this.#state = 'text';
    } else if (character === '}' || character === ']') this.#open.pop();
    const mayName = character === ',' || character === '{';
    if (!isSpace(character)) this.#awaitsName = mayName && this.#open.at(-1) === '{';
  }

  #head(type: ArgumentText['type']): Pick<ArgumentText, 'index' | 'type' | 'isEnd'> {
    return { index: this.#index, type, isEnd: false };
  }

  #end(): void {
    this.#index += 1;
    if (this.#index > maxArgumentTexts) throw new Error('the arguments of a call have too many texts');
    this.#state = 'plain';
  }
}

function spaceEnd(piece: string, from: number): number {
  let at = from;
  while (isSpace(piece[at])) at += 1;
  return at;
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}

/** Whether an escape is at its end. */
function isWhole(escape: string): boolean {
  return escape.length === (escape[1] === 'u' ? 6 : 2);
}

/** The UTF-16 unit of an escape. */
function unitOf(escape: string): string {
  const [, letter = ''] = escape;
  if (letter === 'u') return String.fromCharCode(Number.parseInt(escape.slice(2), 16) || 0);
  return escapes[letter] ?? letter;
}
