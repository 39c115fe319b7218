import { isDigitAt } from './tokens.ts';

/** Digits with separators between them, from the beginning of a candidate. */
export interface DigitGroups {
  /** All digits without separators. */
  digits: string;
  /** The end of each group, as an index of the text and as a number of digits. */
  ends: { end: number; count: number }[];
  /** Whether the text ends where further digits may follow. */
  isAtEnd: boolean;
}

/** How digits are grouped: the separators between two groups, and the most digits. */
export interface Grouping {
  /** Has the flag `y`; matches one or more separators. */
  separators: RegExp;
  longest: number;
}

/** Collects the groups of digits from `start` on. The text ends inside of the groups if `isAtEnd`. */
export function digitGroups(text: string, start: number, { separators, longest }: Grouping): DigitGroups {
  const ends: DigitGroups['ends'] = [];
  let digits = '';
  let at = start;
  for (;;) {
    const first = at;
    while (isDigitAt(text, at) && digits.length + at - first < longest) at += 1;
    if (at === first) break;
    digits += text.slice(first, at);
    ends.push({ end: at, count: digits.length });
    if (digits.length === longest) break;
    separators.lastIndex = at;
    if (separators.test(text)) at = separators.lastIndex;
  }
  return { digits, ends, isAtEnd: at >= text.length };
}
