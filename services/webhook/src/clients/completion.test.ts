import { describe, expect, it } from '@jest/globals';
import { readCompletion, textOf } from './completion.ts';

describe('the words of a message', () => {
  it.each([
    [{ content: 'Yes.' }, 'Yes.'],
    [{ content: '' }, ''],
    [{ content: null }, null],
    [{ content: null, refusal: 'No addresses.' }, 'No addresses.'],
    [{ content: 'Write to', refusal: 'No addresses.' }, 'Write to\n\nNo addresses.'],
    [{ content: 'Yes.', refusal: null }, 'Yes.'],
  ])('of %j are %j', (message, text) => {
    const { choices } = readCompletion(JSON.stringify({ choices: [{ message }] }));
    expect(choices.map((choice) => textOf(choice.message))).toEqual([text]);
  });
});
