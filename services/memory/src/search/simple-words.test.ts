import { describe, expect, it } from '@jest/globals';
import { isPart, simpleTerms } from './simple-words.ts';

const words = (text: string): string[] => simpleTerms(text).terms.filter((term) => !isPart(term));

describe('the simple analyser', () => {
  it.each([
    ['words without case', 'Größe GRÖSSE', ['große', 'größe', 'grosse', 'grösse']],
    ['Vietnamese with and without its marks', 'Đường sắt', ['duong', 'đường', 'sat', 'sắt']],
    ['Japanese by pairs of characters', '東京都に', ['東京', '京都', '都に']],
    ['a single ideograph', '猫', ['猫']],
    ['names in code by their words too', 'getUserById', ['getuserbyid', 'get', 'user', 'by', 'id']],
    ['names with underscores', 'MAX_RETRIES', ['max_retries', 'max', 'retries']],
    ['full-width letters like others', 'ＡＢＣ１', ['abc1']],
    ['nothing in punctuation', '… — !?', []],
  ])('reads %s', (_what, text, expected) => expect(words(text)).toEqual(expected));

  it('adds parts of longer words, so that a word is found by its beginning or end', () => {
    const { terms } = simpleTerms('prefetch');
    expect(terms.filter(isPart)).toHaveLength(6);
    const parts = new Set(simpleTerms('fetching').terms.filter(isPart));
    expect(terms.filter((term) => parts.has(term)).length).toBeGreaterThanOrEqual(3);
  });

  it('counts repeated words', () => {
    expect(simpleTerms('a b a').counts).toEqual([2, 1]);
  });
});
