/** Expressions of one check. Matches name a rule by its index in the compiled list. */
export interface Rule {
  /** RE2 syntax. `^` and `$` are the bounds of one text. */
  readonly regex: string;
  readonly caseSensitive: boolean;
  /** The first and the last character of a match have no letter, mark, digit or underscore beside them. */
  readonly edges: Edges;
  /** A function of the scanner proves candidates. The longest one from each start must be bounded. */
  readonly proved: boolean;
  /** The text is held until its end: a match needs no bound. */
  readonly wholeText: boolean;
}

/** Ends of a match, by whether they must not be inside a longer word. */
export interface Edges {
  readonly start: boolean;
  readonly end: boolean;
}

/** A rule without bounds of time, space or hold-back. */
export class RuleError extends Error {
  readonly code: 'invalid_pattern' | 'pattern_unbounded';
  /** The index of the rule. */
  readonly rule: number;

  constructor(code: RuleError['code'], rule: number, message: string) {
    super(message);
    this.code = code;
    this.rule = rule;
  }
}

const wordCharacter = /^[\p{L}\p{M}\p{N}_]$/u;
const withoutSpaces =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const metacharacters = /[\\.+*?()|[\]{}^$]/g;

/** A rule for a word or phrase: whole and in any case, or anywhere if its script has no spaces. */
export function wordRule(word: string): Rule {
  const characters = Array.from(word);
  return {
    regex: word.replace(metacharacters, '\\$&'),
    caseSensitive: false,
    edges: { start: hasEdge(characters.at(0)), end: hasEdge(characters.at(-1)) },
    proved: false,
    wholeText: false,
  };
}

/** A rule for an expression in RE2 syntax, decided within the bound of streams. */
export function regexRule(regex: string, options: Partial<Omit<Rule, 'regex'>> = {}): Rule {
  return {
    regex,
    caseSensitive: true,
    edges: { start: false, end: false },
    proved: false,
    wholeText: false,
    ...options,
  };
}

function hasEdge(character: string | undefined): boolean {
  return character !== undefined && wordCharacter.test(character) && !withoutSpaces.test(character);
}
