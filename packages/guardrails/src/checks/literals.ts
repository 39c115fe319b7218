import type { Shape } from './shape.ts';
import { startsToken } from './tokens.ts';

/**
 * Begins candidates at words in front of a token, in their case, and at the end of the text where one of them may
 * follow.
 */
export function literals(words: readonly string[]): Shape['next'] {
  const byFirst: string[][] = Array.from({ length: 128 }, () => []);
  for (const word of words) byFirst[word.charCodeAt(0)]?.push(word);
  return (text, from) => {
    for (let index = from; index < text.length; index += 1) {
      const candidates = byFirst[text.charCodeAt(index)];
      if (candidates === undefined || candidates.length === 0 || !startsToken(text, index)) continue;
      for (const word of candidates) if (mayStart(word, text, index)) return index;
    }
    return -1;
  };
}

/** Whether a text has a word at an index, or ends within it. */
export function mayStart(word: string, text: string, index: number): boolean {
  return (
    text.startsWith(word, index) || (index + word.length > text.length && word.startsWith(text.slice(index)))
  );
}
