import { plain } from './normalized-text.ts';

/** An expression of one check. */
export interface Rule {
  /** Matches are reported with this number, which several rules may share. */
  readonly type: number;
  /** RE2 syntax. `^` and `$` are the bounds of one text. */
  readonly regex: string;
  readonly caseSensitive: boolean;
  /** The first and the last character of a match have no letter, mark, digit or underscore beside them. */
  readonly edges: Edges;
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
  /** The index of the rule; null for all together. */
  readonly rule: number | null;

  constructor(code: RuleError['code'], rule: number | null, message: string) {
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
export function wordRule(word: string, type = 0): Rule {
  const seen = plain(word);
  const characters = Array.from(seen);
  return {
    type,
    regex: seen.replace(metacharacters, '\\$&'),
    caseSensitive: false,
    edges: { start: hasEdge(characters.at(0)), end: hasEdge(characters.at(-1)) },
    wholeText: false,
  };
}

/** A rule for an expression in RE2 syntax. Its characters are read in the form of texts. */
export function regexRule(regex: string, options: Partial<Omit<Rule, 'regex'>> = {}): Rule {
  return {
    type: 0,
    regex: plain(regex),
    caseSensitive: true,
    edges: { start: false, end: false },
    wholeText: false,
    ...options,
  };
}

function hasEdge(character: string | undefined): boolean {
  return character !== undefined && wordCharacter.test(character) && !withoutSpaces.test(character);
}
