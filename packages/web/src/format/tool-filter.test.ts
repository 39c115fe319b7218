import { describe, expect, it } from '@jest/globals';
import { filterWith } from './tool-filter.ts';

describe('the tools of a server', () => {
  it.each([
    ['one is switched off', { allow: [], deny: [] }, false, { allow: [], deny: ['search'] }],
    ['it is switched off again', { allow: [], deny: ['search'] }, false, { allow: [], deny: ['search'] }],
    ['one is switched on', { allow: [], deny: ['search', 'drop'] }, true, { allow: [], deny: ['drop'] }],
    ['an allowed one is on', { allow: ['search'], deny: [] }, true, { allow: ['search'], deny: [] }],
    [
      'others are allowed alone',
      { allow: ['drop'], deny: [] },
      true,
      { allow: ['drop', 'search'], deny: [] },
    ],
  ])('where %s', (_, before, isOn, after) => {
    expect(filterWith(before, 'search', isOn)).toEqual(after);
  });
});
