import { describe, expect, it } from '@jest/globals';
import { wordsOf } from './words.ts';

/** The words of a text, without those of these kinds. */
const words = (text: string, without = 'cn'): string[] =>
  wordsOf(text)
    .split(' ')
    .filter((word) => word !== '' && !without.includes(word.charAt(0)));
const bare = (text: string): string[] => words(text).map((word) => word.slice(1));

describe('words', () => {
  it.each([
    ['typographic quotation marks', '“hello” – ‘world’…', ['hello', 'world']],
    ['possessives like the stemmer of English', 'the dogs’ owner’s', ['the', 'dogs', 'owner', 's']],
    ['apostrophes inside words of other scripts', "п’ять пʼять п'ять", ['пять', 'пять', 'пять']],
    ['words with and without their marks', 'café', ['cafe', 'café']],
    ['decomposed characters like composed ones', 'cafe\u0301', ['cafe', 'café']],
    ['capital letters with marks', 'ÄRGER', ['arger', 'ärger']],
    ['letters that are two', 'Größe GRÖSSE', ['grosse', 'größe', 'grosse', 'grösse']],
    ['dotted and dotless i', 'İSTANBUL ısı', ['istanbul', 'i̇stanbul', 'isi', 'ısı']],
    ['Vietnamese with and without its marks', 'Đường sắt', ['duong', 'đường', 'sat', 'sắt']],
    ['Greek at the end of a word', 'ΟΔΟΣ οδός', ['οδοσ', 'οδος', 'οδοσ', 'οδός']],
    ['Arabic with and without its marks', 'كِتَاب كتاب', ['كتاب', 'كِتَاب', 'كتاب']],
    ['vowels of Devanagari, which are marks', 'किताब', ['किताब']],
    ['full-width letters like others', 'ＡＢＣ１', ['abc1']],
    ['a soft hyphen inside a word', 'Donau\u00addampf', ['donaudampf']],
    ['a word of Chinese by pairs of characters', '东京都', ['东京', '京都']],
    ['Japanese by pairs of characters', '東京都に', ['東京', '京都', '都に']],
    ['a single ideograph', '猫', ['猫']],
    ['Korean by pairs and whole words', '반품을', ['반품', '품을', '반품을']],
    ['Thai by pairs of characters', 'กาแฟ', ['กา', 'าแ', 'แฟ']],
    ['nothing in punctuation and emoji', '… — !? ❤️', []],
    ['nothing in marks without a letter', '\u0301\u0302 __', []],
  ])('reads %s', (_what, text, expected) => expect(bare(text)).toEqual(expected));

  it('has each character that may be a word, for queries of one', () => {
    expect(words('黒猫が', 'pn')).toEqual(['c黒', 'c猫']);
    expect(words('물을', 'pn')).toEqual(['c물', 'c을']);
  });

  it.each([
    ['getUserById', ['agetuserbyid', 'nget', 'nuser', 'nby', 'nid']],
    ['MAX_RETRIES', ['amax', 'aretries', 'nmax_retries']],
    ['HTTPServer2', ['whttpserver2', 'nhttp', 'nserver2']],
  ])('has the names in %s', (text, expected) => expect(words(text, '')).toEqual(expected));

  it('has at most 8,192 characters of a text whose characters become many', () => {
    expect(wordsOf('\ufdfa'.repeat(1_500)).length).toBeLessThan(20_000);
  });
});
