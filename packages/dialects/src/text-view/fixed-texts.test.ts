import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

/** A request with a placeholder for each address in the texts of a kind. */
function masked(name: DialectName, request: object, kinds = ['user', 'tool_result']): unknown {
  const body = Buffer.from(JSON.stringify(request));
  const view = atOnce(TextView.read(body, dialects[name].texts.request));
  const changes = view.texts
    .filter(({ kind }) => kinds.includes(kind))
    .flatMap((viewText) =>
      [...viewText.value.matchAll(/\w+@\w+\.com/g)].map(({ index, 0: { length } }) => ({
        ...{ viewText, from: index, until: index + length, text: '[EMAIL]' },
      })),
    );
  return JSON.parse(atOnce(view.rewritten(changes)).toString());
}

const calling = (...calls: [id: string, name: string, args: string][]) => ({
  role: 'assistant',
  tool_calls: calls.map(([id, name, args]) => ({
    ...{ id, type: 'function', function: { name, arguments: args } },
  })),
});
const result = (tool_call_id: string, content = 'ok') => ({ role: 'tool', tool_call_id, content });
const next = { role: 'user', content: 'Next.' };

it('names in JSON of older calls and results stay distinct', () => {
  const args = (...names: string[]): string => JSON.stringify(Object.fromEntries(names.map((n) => [n, 1])));
  const messages = [calling(['c', 'f', args('ann@a.com', 'joe@a.com', '[EMAIL] 1', 'to joe@a.com')]), next];
  expect(masked('chat', { messages })).toEqual({
    messages: [calling(['c', 'f', args('[EMAIL]', '[EMAIL] 2', '[EMAIL] 1', 'to [EMAIL]')]), next],
  });
  const input = { 'ann@a.com': { 'ann@a.com': 'joe@a.com' }, 'joe@a.com': [] };
  const call = (value: object) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'c', name: 'f', input: value }],
  });
  expect(masked('messages', { messages: [call(input), next] })).toEqual({
    messages: [call({ '[EMAIL]': { '[EMAIL]': '[EMAIL]' }, '[EMAIL] 1': [] }), next],
  });
});

it('ids and names of older calls are replaced by words, and pairs stay pairs', () => {
  const calls = calling(['ann@a.com', 'f', '{}'], ['joe@a.com', 'to_joe@a.com', '{}']);
  const messages = [calls, result('joe@a.com'), result('ann@a.com'), next];
  const words = calling(['EMAIL_1', 'f', '{}'], ['EMAIL_2', 'EMAIL_3', '{}']);
  const expected = { messages: [words, result('EMAIL_2'), result('EMAIL_1'), next] };
  expect(masked('chat', { messages })).toEqual(expected);
  expect(masked('chat', { messages }, ['user'])).toEqual(expected);
  // A result of the last message, which no check is on, stays the result of its call; tools of the request stay themselves.
  const tools = [{ type: 'function', function: { name: 'to_joe@a.com' } }];
  expect(masked('chat', { tools, messages: messages.slice(0, -1) }, ['user'])).toEqual({
    tools,
    messages: expected.messages.slice(0, -1),
  });
  const contents = (name: string, key: string) => [
    { role: 'model', parts: [{ functionCall: { name, args: { [key]: 1 } } }] },
    { role: 'user', parts: [{ functionResponse: { name, response: { [key]: 1 } } }] },
    { role: 'user', parts: [{ text: 'Next.' }] },
  ];
  expect(masked('gemini', { contents: contents('f ann@a.com', 'ann@a.com') })).toEqual({
    contents: contents('EMAIL_1', '[EMAIL]'),
  });
});

it('an older file in another charset is replaced as a whole', () => {
  const file = (text: string, encoding: BufferEncoding) => ({
    role: 'user',
    content: [
      {
        type: 'file',
        file: {
          file_data: `data:text/plain;charset=latin1;base64,${Buffer.from(text, encoding).toString('base64')}`,
        },
      },
    ],
  });
  const messages = [file('é ann@a.com', 'latin1'), { role: 'assistant', content: 'Ok.' }, next];
  expect(masked('chat', { messages })).toEqual({
    messages: [file('EMAIL_1', 'latin1'), ...messages.slice(1)],
  });
});
