import type { Verdict } from './shape.ts';

const hexadecimal = /^[\dA-Fa-f]+$/;

/** Whether a character belongs to words and names: ASCII letters, digits, and the underscore. */
export function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
  );
}

/** Whether the character is an ASCII digit. False past the end of the text. */
export function isDigitAt(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}

/** Whether a token may begin at `index`: no word continues there. */
export function startsToken(text: string, index: number): boolean {
  return index === 0 || !isWordCode(text.charCodeAt(index - 1)) || followsEscape(text, index);
}

const backslash = 92;
const percent = 37;
const smallU = 117;

/** Whether the characters before `index` are an escape in JSON inside JSON, or a percent-encoded character. */
function followsEscape(text: string, index: number): boolean {
  if (text.charCodeAt(index - 2) === backslash) return 'nrtbf'.includes(text.charAt(index - 1));
  if (text.charCodeAt(index - 3) === percent) return hexadecimal.test(text.slice(index - 2, index));
  const isUnicode = text.charCodeAt(index - 6) === backslash && text.charCodeAt(index - 5) === smallU;
  return isUnicode && hexadecimal.test(text.slice(index - 4, index));
}

/** Whether a number may begin at `index`: it is no part of a word, a decimal, a version, or a UUID. */
export function startsNumber(text: string, index: number): boolean {
  if (!startsToken(text, index)) return false;
  const before = text[index - 1];
  return !((before === '.' || before === '-') && index > 1 && isWordCode(text.charCodeAt(index - 2)));
}

/** Whether a token ends at `end`, or undecided at the end of an unfinished text. */
export function endsToken(text: string, end: number, ended: boolean): boolean | 'undecided' {
  if (end >= text.length) return ended || 'undecided';
  return !isWordCode(text.charCodeAt(end));
}

/** Whether a number ends at `end`: no word, decimals, or further parts of a code follow. */
export function endsNumber(text: string, end: number, ended: boolean): boolean | 'undecided' {
  const token = endsToken(text, end, ended);
  if (token !== true || end >= text.length) return token;
  const mark = text[end];
  if (mark !== '.' && mark !== '-') return true;
  if (end + 1 >= text.length) return ended || 'undecided';
  return mark === '.' ? !isDigitAt(text, end + 1) : !isWordCode(text.charCodeAt(end + 1));
}

/** The verdict about a proven candidate, which is a match if its token ends at `end`. */
export function matchIf(ends: boolean | 'undecided', start: number, end: number): Verdict {
  if (ends === 'undecided') return ends;
  return ends ? { start, end } : null;
}

/** The end of a match at `start` of a pattern with the flag `y`. */
export function runEnd(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

/**
 * Compares a text with a template, in which `d` is a digit and each other character itself. Undecided if the text ends
 * before the template does.
 */
export function fits(template: string, text: string, start: number): boolean | 'undecided' {
  for (let at = 0; at < template.length; at += 1) {
    if (start + at >= text.length) return 'undecided';
    const isFit = template[at] === 'd' ? isDigitAt(text, start + at) : template[at] === text[start + at];
    if (!isFit) return false;
  }
  return true;
}

/** The text before an index, at most `length` characters. */
export function before(text: string, index: number, length: number): string {
  return text.slice(Math.max(0, index - length), index);
}
