import { describe, expect, it } from '@jest/globals';
import { subjectOf } from './small-talk.ts';

describe('the subject of a message', () => {
  it.each([
    'hi',
    'Hello!',
    'Thank you 👍',
    'OK',
    'Xin chào',
    'ca\u0309m o\u031bn bạn',
    '谢谢!',
    '👍',
    '?!',
    '',
  ])('is nothing in %s', (message) => expect(subjectOf(message)).toBe(''));

  it.each([
    ['Hello, how do I return an item?', ', how do I return an item?'],
    ['hit', 'hit'],
    ['你好吗', '你好吗'],
  ])('in %s is the rest', (message, subject) => expect(subjectOf(message)).toBe(subject));
});
