import { expect, it } from '@jest/globals';
import { plainAnswer } from './message-text.ts';

it('says as text what a provider says in parts, and leaves the rest as it is', () => {
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Six times seven.' }] },
    { type: 'text', text: 'The answer is 42.' },
  ];
  const answer = {
    id: 'c',
    choices: [{ index: 0, message: { content: parts }, finish_reason: 'stop' }, null],
    usage: {},
  };
  expect(JSON.parse(plainAnswer(Buffer.from(JSON.stringify(answer))))).toEqual({
    ...answer,
    choices: [{ ...answer.choices[0], message: { content: 'The answer is 42.' } }, null],
  });
  for (const text of [
    '{ "choices": [{"message":{"content":"x"}}, {"message":null}, 7] }',
    '{"data":[1.0]}',
    '[]',
  ])
    expect(plainAnswer(Buffer.from(text))).toBe(text);
});
