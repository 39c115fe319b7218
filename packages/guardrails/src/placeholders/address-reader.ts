/** An address of the web begun by a text. */
export interface OpenAddress {
  /** Null while it is not known, and where readers of the text may differ about it. */
  readonly host: string | null;
}

interface Region {
  /** From its scheme on, without spaces, up to `headChars`. */
  head: string;
  /** Whether it may be of another host: destinations of links may be relative. */
  leaves: boolean;
  /** Its last characters. */
  tail: string;
  /** Its last character; empty without a fixed one. */
  closer: string;
  /** Whether nothing but `closer` ends it: it may have spaces. */
  isWhole: boolean;
  /** Open parentheses in it. */
  depth: number;
  isEscaped: boolean;
}

const headChars = 1_024;
/** A destination shows within so many characters whether it is relative. */
const linkChars = 64;
const tailChars = 8;
/** Characters in front of an address, which decide where it ends. */
const recentChars = 32;

/** The beginning of an address, or of the destination of a link in Markdown or HTML. */
const start = /https?:|www\.|\]\(|\]:|\b(?:src|srcset|href|action|poster|background)\s{0,8}=|\burl\(/i;

/**
 * Finds addresses of the web in a text in pieces: with `http:` or `https:`, with `www.`, and without a scheme as
 * destinations of links. In doubt an address goes on: Markdown and HTML disagree about where one ends.
 */
export class AddressReader {
  #recent = '';
  #region: Region | null = null;

  push(text: string): void {
    let rest = text;
    while (rest !== '')
      rest = this.#region === null ? this.#outside(rest) : inside(this.#region, rest, this.#close);
  }

  /** The open address behind the text so far; null outside of one. */
  get open(): OpenAddress | null {
    const region = this.#region;
    return region?.leaves === true ? { host: hostOf(region.head) } : null;
  }

  readonly #close = (closer: string): void => {
    this.#region = null;
    this.#recent = closer;
  };

  /** Returns what is left behind the beginning of an address. */
  #outside(text: string): string {
    const whole = this.#recent + text;
    const begin = start.exec(whole);
    if (begin === null) {
      this.#recent = whole.slice(-recentChars);
      return '';
    }
    const [begun] = begin;
    const isLink = !/^(?:https?:|www\.)$/i.test(begun);
    const before = whole.slice(0, begin.index);
    const opener = before.at(-1) ?? '';
    const isQuoted = !isLink && /["'`]/.test(opener);
    this.#region = {
      ...{ head: isLink ? '' : begun, leaves: !isLink, tail: '', depth: 0, isEscaped: false },
      closer: closerOf(begun, opener),
      isWhole: isQuoted && /[=(]\s*\\*.$/.test(before),
    };
    return whole.slice(begin.index + begun.length);
  }
}

function closerOf(begun: string, opener: string): string {
  if (begun.endsWith('(')) return ')';
  if (begun.endsWith('=')) return '>';
  if (begun.endsWith(']:')) return '';
  if (opener === '(') return ')';
  return opener === '<' ? '>' : /["'`]/.test(opener) ? opener : '';
}

/** Reads a region on. Returns what is left behind its end. */
function inside(region: Region, text: string, close: (closer: string) => void): string {
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (!region.leaves && opens(region, character)) continue;
    if (ends(region, character)) {
      close(character);
      return text.slice(at + 1);
    }
    region.isEscaped = character === '\\' && !region.isEscaped;
    add(region, character);
  }
  return '';
}

/** Whether a character stands in front of a link's destination. A quote in a string of code has a backslash before it. */
function opens(region: Region, character: string): boolean {
  if (region.isWhole || !/^\\*$/.test(region.head)) return false;
  if (/\s/.test(character)) return region.head === '';
  if (!/["'<]/.test(character)) return false;
  region.closer = character === '<' ? '>' : character;
  region.isWhole = true;
  region.head = '';
  return true;
}

function ends(region: Region, character: string): boolean {
  const { closer, isWhole, isEscaped } = region;
  if (isWhole) return character === closer || (closer === '>' && /[\n\r]/.test(character));
  if (/\s/.test(character)) return true;
  if (closer === '' && /[<>]/.test(character)) return true;
  if (closer !== ')') return character === closer;
  if (isEscaped) return false;
  if (character === '(') region.depth += 1;
  if (character !== ')') return false;
  region.depth -= 1;
  return region.depth < 0;
}

function add(region: Region, character: string): void {
  if (!/\s/.test(character) && region.head.length < headChars) region.head += character;
  if (region.leaves) return;
  if (region.head.length <= linkChars) region.leaves = leaves(region.head);
  // A list of sources, or an address within a relative one.
  region.tail = (region.tail + character).slice(-tailChars);
  const address = /https?:$|[\s,]\/\/$/i.exec(region.tail);
  if (address === null || region.leaves) return;
  region.head = address[0].trim();
  region.leaves = true;
}

/** Whether the destination of a link may be of another host; entities and escapes may hide it. */
function leaves(head: string): boolean {
  const plain = head.replaceAll(/\\(?=[!-/:-@[-`{-~])/g, '');
  return [head, plain].some((each) => /^,?(?:https?:|[\\/]{2}|www\.|[^/?#]*&)/i.test(each));
}

/** The host of an address; null before its end, and where readers may differ about it. */
function hostOf(head: string): string | null {
  const [, authority = '', end = ''] = /^,?(?:https?:)?\/*([^\\/?#]+)([\\/?#])/i.exec(head) ?? [];
  if (authority === '' || end === '\\' || authority.includes('&')) return null;
  try {
    return new URL(`http://${authority}`).hostname;
  } catch {
    return null;
  }
}
