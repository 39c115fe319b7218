import { formsOf } from './composites.ts';

/** Invisible characters: joiners, marks of direction, variation selectors. */
const ignorable = /^\p{Default_Ignorable_Code_Point}$/u;
/** Characters belonging to the previous one: marks, the vowels and finals of Hangul, and invisible ones. */
const follower = /^[\p{M}\u{1161}-\u{1175}\u{11a8}-\u{11c2}\p{Default_Ignorable_Code_Point}]$/u;
const digit = /^\p{Nd}$/u;
const space = /^\p{Zs}$/u;

/** More of them are read apart from the character before. */
const maxFollowers = 256;
/** How a character is read, as bits. */
const form = { known: 1, unusual: 2, follower: 4, joins: 8 } as const;

/** A part of the text with another normalized form. */
interface Change {
  /** Units of the normalized text. */
  readonly from: number;
  readonly to: number;
  /** UTF-16 units of the text. */
  readonly start: number;
  readonly end: number;
}

/**
 * Normalizes a text in pieces: to NFC, without invisible characters, with digits of all scripts as 0 to 9 and
 * spaces of all widths as one. Knows the place in the text of each place in what it read.
 */
export class NormalizedText {
  /** The last character with its marks, if the next piece may change it. */
  pending = '';
  #scanned = 0;
  #followers = 0;
  #isUnusual = false;
  /** Whether marks behind the last character belong to it. */
  #joins = false;
  #length = 0;
  #read = 0;
  #changes: Change[] = [];
  #first = { from: 0, start: 0 };

  /** UTF-16 units of the text so far. */
  get length(): number {
    return this.#length + this.pending.length;
  }

  /** Units of what was read so far. */
  get read(): number {
    return this.#read;
  }

  /** The forms of the last character with marks: empty without one, null if unknown. */
  get pendingForms(): readonly string[] | null {
    const [character = ''] = this.pending;
    if (character === '') return [];
    const seen = plain(character);
    return follower.test(character) || plain(this.pending) !== seen ? null : formsOf(seen);
  }

  /** Returns what can be read now: without the last character, if a mark may change it. */
  push(piece: string): string {
    return this.#readPart(piece, false);
  }

  /** Returns the rest. */
  end(): string {
    return this.#readPart('', true);
  }

  /** The place in the text at which a place in what was read begins. */
  startOf(place: number): number {
    const change = this.#changes.findLast(({ from }) => from <= place);
    if (change === undefined) return place + this.#first.start - this.#first.from;
    return place < change.to ? change.start : change.end + place - change.to;
  }

  /** The place in the text behind the character before a normalized place. */
  endOf(place: number): number {
    const change = this.#changes.findLast(({ from }) => from < place);
    if (change === undefined) return place + this.#first.start - this.#first.from;
    return change.end + Math.max(0, place - change.to);
  }

  /** Forgets the places of what is before `place`. */
  forget(place: number): void {
    let last = -1;
    while ((this.#changes[last + 1]?.to ?? Infinity) < place) last++;
    const change = this.#changes[last];
    if (change === undefined) return;
    this.#first = { from: change.to, start: change.end };
    this.#changes = this.#changes.slice(last + 1);
  }

  #readPart(piece: string, isLast: boolean): string {
    const text = this.pending + piece;
    let out = '';
    let run = 0;
    let start = 0;
    let at = this.#scanned;
    const readUntil = (end: number): void => {
      if (!this.#isUnusual && this.#followers === 0) return;
      out += this.#plainRun(text.slice(run, start)) + this.#segment(text.slice(start, end));
      run = end;
    };
    while (at < text.length) {
      const code = text.codePointAt(at) ?? 0;
      if (!isLast && code >= 0xd800 && code < 0xdc00 && at + 1 === text.length) break;
      const here = formOf(code);
      if ((here & form.follower) !== 0 && this.#joins && this.#followers < maxFollowers) {
        this.#followers++;
      } else {
        readUntil(at);
        start = at;
        this.#followers = 0;
        this.#isUnusual = (here & form.unusual) !== 0;
        this.#joins = (here & form.joins) !== 0;
      }
      at += code > 0xffff ? 2 : 1;
    }
    // No later character changes the last one. A half of one waits for the other.
    if (!this.#joins && at === text.length) {
      readUntil(at);
      this.#isUnusual = false;
      start = at;
    }
    out += this.#plainRun(text.slice(run, start));
    this.pending = text.slice(start);
    this.#scanned = at - start;
    return isLast ? out + this.#takePending() : out;
  }

  #takePending(): string {
    const { pending } = this;
    this.pending = '';
    this.#scanned = 0;
    return this.#segment(pending);
  }

  #plainRun(run: string): string {
    this.#length += run.length;
    this.#read += run.length;
    return run;
  }

  /** Reads a character with its marks. */
  #segment(segment: string): string {
    const seen = plain(segment);
    const start = this.#length;
    const from = this.#read;
    this.#length += segment.length;
    this.#read += seen.length;
    if (seen.length !== segment.length || seen.length > 1) {
      this.#changes.push({ from, to: this.#read, start, end: this.#length });
    }
    return seen;
  }
}

const forms = new Uint8Array(0x10000);

/** How a character is read, remembered for those of the basic plane. */
function formOf(code: number): number {
  const known = forms[code] ?? 0;
  if (known !== 0) return known;
  const character = String.fromCodePoint(code);
  const seen = plain(character);
  const isFollower = follower.test(character);
  const joins = isFollower ? seen !== '' : formsOf(seen)?.length !== 1;
  const bits =
    form.known |
    (seen === character && !isFollower ? 0 : form.unusual) |
    (isFollower ? form.follower : 0) |
    (joins ? form.joins : 0);
  if (code < forms.length) forms[code] = bits;
  return bits;
}

/** A text in the form in which texts are read. */
export function plain(text: string): string {
  let out = '';
  for (const character of text) {
    if (ignorable.test(character)) continue;
    if (digit.test(character)) out += digitOf(character);
    else out += space.test(character) ? ' ' : character;
  }
  return out.normalize('NFC');
}

/** The value of a decimal digit: each script has its ten in a row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let first = code;
  while (digit.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}
