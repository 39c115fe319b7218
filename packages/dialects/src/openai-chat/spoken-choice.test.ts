import { expect, it } from '@jest/globals';
import { SpokenChoice } from './chunks.ts';

type Fields = Record<string, unknown>;
const call = { id: '1', function: { name: 'f', arguments: '{}' } };

it.each<[string, Fields[], (Fields | null)[]]>([
  [
    'deltas',
    [{ delta: { content: 'a' } }, { delta: { content: 'b' } }, { delta: null }],
    [{ content: 'a' }, { content: 'b' }, null],
  ],
  [
    'messages in place of deltas',
    [{ message: { content: 'a' } }, { message: { content: 'b' } }, { message: { tool_calls: [call] } }],
    [{ content: 'a' }, { content: 'b' }, { tool_calls: [call] }],
  ],
  [
    'the message again',
    [{ delta: { content: 'a' } }, { delta: {}, message: { role: 'assistant', content: 'a' } }],
    [{ content: 'a' }, {}],
  ],
  [
    'the message again without a delta',
    [{ delta: { content: 'a' } }, { message: { content: 'a' } }],
    [{ content: 'a' }, {}],
  ],
  [
    'calls that come with the message only',
    [{ delta: { content: 'a' } }, { message: { content: 'a', tool_calls: [call] } }],
    [{ content: 'a' }, { tool_calls: [call] }],
  ],
  [
    'an answer behind streamed thoughts',
    [{ delta: { reasoning: 'hm' } }, { message: { content: 'a', reasoning: 'hm' } }],
    [{ reasoning: 'hm' }, { content: 'a' }],
  ],
  [
    'the message again beside an empty first delta',
    [
      { delta: { role: 'assistant', content: '' } },
      { message: { content: 'a' } },
      { message: { content: 'b' } },
    ],
    [{ role: 'assistant', content: '' }, { content: 'a' }, { content: 'b' }],
  ],
])('of %s, each chunk says what is new', (_name, chunks, said) => {
  const choice = new SpokenChoice();
  expect(chunks.map((chunk) => choice.newIn(chunk))).toEqual(said);
});
