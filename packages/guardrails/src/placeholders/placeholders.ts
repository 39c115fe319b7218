import { PlaceholderScan, type KnownPlaceholder, type KnownPlaceholders } from './placeholder-scan.ts';

/** The source of a value. */
export interface ValueSource {
  /** Whether answers get the value back: the client has sent it, or a tool. */
  isReturned: boolean;
  /** The host of the address around the value; null outside of addresses. */
  host: string | null;
}

interface KnownValue extends KnownPlaceholder {
  readonly letters: Set<string>;
  readonly hosts: Set<string>;
  value: string;
  isReturned: boolean;
}

/** The most values of a run, and the most characters of one and of all. */
export const mostValues = { count: 10_000, chars: 1_048_576, charsOfOne: 4_096 } as const;

const digits = 10;
const maxLetters = 32;
/** Text without these characters has the same form in strings of JSON, of code and in JSON within JSON. */
const unsafe = /["'`\\\p{Cc}\p{Cs}\u2028\u2029]/u;

/**
 * The placeholders of one run, such as `EMAIL4821390756`: the letters of a type, and ten digits of a hash of the value. Nothing
 * of it is stored: the same value has the same one again.
 */
export class Placeholders implements KnownPlaceholders {
  readonly #hash: (value: string) => Buffer;
  readonly #byDigits = new Map<string, KnownValue>();
  readonly #digits = new Map<string, string>();
  readonly #letters = new Set<string>();
  #chars = 0;

  /** `hash`: with a key of the tenant, at least eight bytes. */
  constructor(hash: (value: string) => Buffer) {
    this.#hash = hash;
  }

  get isEmpty(): boolean {
    return this.#byDigits.size === 0;
  }

  /** Notes a value, before the placeholder of any value beside it is written: two may share one. */
  note(type: string, value: string, { isReturned, host }: ValueSource): void {
    if (!this.#fits(value)) return;
    const key = this.#digitsOf(value);
    const known = this.#byDigits.get(key) ?? this.#added(key, value);
    if (known.value !== value) {
      known.isShared = true;
      return;
    }
    const letters = lettersOf(type);
    known.letters.add(letters);
    this.#letters.add(letters);
    known.isReturned ||= isReturned;
    if (host !== null && isReturned) known.hosts.add(host);
  }

  /** The placeholder of a value; null for one to be masked. */
  placeholderOf(type: string, value: string): string | null {
    const key = this.#digits.get(value);
    const known = key === undefined ? undefined : this.#byDigits.get(key);
    if (key === undefined || known === undefined || known.isShared || known.value !== value) return null;
    return lettersOf(type) + key;
  }

  /** Finds the placeholders in one text of an answer. */
  scan(): PlaceholderScan {
    return new PlaceholderScan(this);
  }

  known(key: string): KnownPlaceholder | undefined {
    const known = this.#byDigits.get(key);
    return known?.isReturned === true && !known.isShared ? known : undefined;
  }

  get letters(): ReadonlySet<string> {
    return this.#letters;
  }

  #fits(value: string): boolean {
    if (this.#digits.has(value)) return true;
    if (value.length > mostValues.charsOfOne || unsafe.test(value)) return false;
    return this.#digits.size < mostValues.count && this.#chars + value.length <= mostValues.chars;
  }

  #added(key: string, value: string): KnownValue {
    const known = {
      value,
      letters: new Set<string>(),
      hosts: new Set<string>(),
      isReturned: false,
      isShared: false,
    };
    this.#byDigits.set(key, known);
    return known;
  }

  #digitsOf(value: string): string {
    const known = this.#digits.get(value);
    if (known !== undefined) return known;
    const number = this.#hash(value).readBigUInt64BE() % 10n ** BigInt(digits);
    const made = String(number).padStart(digits, '0');
    this.#digits.set(value, made);
    this.#chars += value.length;
    return made;
  }
}

function lettersOf(type: string): string {
  const letters = type.toUpperCase().replaceAll(/[^A-Z]/g, '');
  return letters === '' ? 'VALUE' : letters.slice(0, maxLetters);
}
