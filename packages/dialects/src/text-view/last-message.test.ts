import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Elements = readonly Readonly<Record<string, unknown>>[];

const lists = { chat: 'messages', messages: 'messages', responses: 'input', gemini: 'contents' } as const;

/** The texts beside names, and the paths of what is unreadable, before the client's last message. */
function olderIn(dialect: DialectName, elements: Elements): string[] {
  const body = Buffer.from(JSON.stringify({ [lists[dialect]]: elements }));
  const { texts, unreadable } = atOnce(TextView.read(body, dialects[dialect].texts.request));
  return [
    ...texts.flatMap(({ value, isOlder, isFixed }) => (isOlder && !isFixed ? [value] : [])),
    ...unreadable.flatMap(({ param, isOlder }) => (isOlder ? [param] : [])),
  ];
}

const user = (content: unknown): Elements[number] => ({ role: 'user', content });
const text = (value: string) => ({ type: 'text', text: value });
const result = (content: unknown) => ({ type: 'tool_result', tool_use_id: 'c', content });

it('is the last element of the client, whatever stands behind it', () => {
  const messages = [
    { role: 'system', content: 'system' },
    user('first'),
    { role: 'assistant', content: 'answer' },
    user('last'),
  ];
  expect(olderIn('chat', messages)).toEqual(['first', 'answer']);
  // A refused client often leaves its message before the next one.
  expect(olderIn('chat', [...messages, user('next')])).toEqual(['first', 'answer', 'last']);
  // An answer to be continued, and what programs say of their surroundings.
  expect(olderIn('chat', [...messages, { role: 'assistant', content: 'begun' }])).toEqual([
    'first',
    'answer',
  ]);
  expect(olderIn('messages', [user('last'), { role: 'system', content: 'Tools: none' }])).toEqual([]);
  expect(olderIn('chat', [user('last'), { role: 'developer', content: 'Be short.' }])).toEqual([]);
});

it('has the results of tools since the last answer until words follow', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' };
  const output = (value: string) => ({ type: 'function_call_output', call_id: 'c', output: value });
  const input = [user('question'), call, output('one'), output('two')];
  expect(olderIn('responses', input)).toEqual(['question']);
  expect(olderIn('responses', [...input, user('next')])).toEqual(['question', 'one', 'two']);

  const asked = [user('question'), { role: 'assistant', content: [text('answer')] }];
  const picture = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
  };
  const results = [result('one'), result([picture, text('two')])];
  expect(olderIn('messages', [...asked, user(results)])).toEqual(['question', 'answer']);
  expect(olderIn('messages', [...asked, user([text('words'), ...results])])).toEqual(['question', 'answer']);
  expect(olderIn('messages', [...asked, user([...results, text('next')])])).toEqual([
    ...['question', 'answer', 'one', 'two'],
    'messages[2].content[1].content[0].source.data',
  ]);
  // A picture is no words.
  expect(olderIn('messages', [...asked, user([...results, picture])])).toEqual(['question', 'answer']);

  const contents = [
    { role: 'user', parts: [{ text: 'question' }] },
    { role: 'model', parts: [{ functionCall: { name: 'n', args: {} } }] },
  ];
  const response = { functionResponse: { name: 'n', response: { output: 'one' } } };
  const answered = (...parts: object[]): Elements => [...contents, { role: 'user', parts }];
  expect(olderIn('gemini', answered(response))).toEqual(['question']);
  expect(olderIn('gemini', answered(response, { text: 'next' }))).toEqual(['question', 'one']);
});

it('is the last text of an element that may have several turns of the client', () => {
  const reminder = text('<system-reminder>Attribution</system-reminder>');
  expect(olderIn('messages', [user([reminder, text('last')])])).toEqual([reminder.text]);
  const refused = [reminder, text('refused'), text('next')];
  expect(olderIn('messages', [user(refused)])).toEqual([reminder.text, 'refused']);
  const page = { type: 'text', media_type: 'text/plain', data: 'page' };
  const question = [{ type: 'document', source: page, title: 'title' }, text('last')];
  expect(olderIn('messages', [user(question)])).toEqual([]);
  expect(olderIn('messages', [user(question.toReversed())])).toEqual([]);
  // In others each has its own.
  expect(olderIn('chat', [user([text('page'), text('last')])])).toEqual([]);
  expect(olderIn('gemini', [{ role: 'user', parts: [{ text: 'page' }, { text: 'last' }] }])).toEqual([]);
});
