import { expect, it } from '@jest/globals';
import { messageText, spokenText, tokensIn } from './message-text.ts';

const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };

it.each<[object, string]>([
  [{ role: 'assistant', content: 'a', refusal: 'b', reasoning_content: 'r' }, 'rab'],
  [{ content: 'a', reasoning: 'r', reasoning_details: [{ type: 'reasoning.text', text: 'r' }] }, 'ra'],
  [{ content: null, thinking: 't' }, 't'],
  [{ content: null, reasoning_details: [{ summary: 's' }] }, 's'],
  [
    { content: [thinking, { type: 'text', text: 'Yes.' }, 'And', { type: 'refusal', refusal: 'no' }] },
    'Hm.Yes.Andno',
  ],
  [{ content: null, function_call: { name: 'f', arguments: '{"x":1}' } }, 'f{"x":1}'],
  [{ content: null, audio: { id: 'a', data: 'UklG', transcript: 'said' } }, 'said'],
  [
    {
      tool_calls: [
        { function: { name: 'f', arguments: '{}' } },
        { function: { name: 'g', arguments: { a: 1 } } },
      ],
    },
    'f{}g{"a":1}',
  ],
  [{ content: null, tool_calls: [null, {}, { function: null }, { function: { name: 7 } }] }, ''],
  [{ content: [], tool_calls: 'x' }, ''],
  [{}, ''],
])('the text of %j is all that costs tokens', (message, text) => {
  expect(messageText(message as Record<string, unknown>)).toBe(text);
});

it('a model says the texts of its content, and no thoughts', () => {
  expect(spokenText('Yes.')).toBe('Yes.');
  expect(spokenText([thinking, { type: 'text', text: 'Yes. ' }, { text: 'Now.' }])).toBe('Yes. Now.');
  for (const odd of [null, 7, {}, [null, 7, { type: 'image_url', image_url: { url: 'x' } }]])
    expect(spokenText(odd)).toBe('');
  const deep = Array.from({ length: 20 }).reduce<unknown>((inner) => [inner], 'x');
  expect(spokenText(deep)).toBe('');
});

it('counts arrays of tokens', () => {
  expect([[1, 2, 3], [[1, 2], [3]], ['text'], 'text', [], [[1], 'x']].map(tokensIn)).toEqual([
    3, 3, 0, 0, 0, 1,
  ]);
});
