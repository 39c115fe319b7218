import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const viewOf = (name: DialectName, json: string): TextView =>
  atOnce(TextView.read(Buffer.from(json), dialects[name].texts.request));

/** The texts of results of tools, with `=` before a fixed one. */
const resultsIn = (name: DialectName, body: Fields): string[] =>
  viewOf(name, JSON.stringify(body))
    .texts.filter(({ kind }) => kind === 'tool_result')
    .map(({ value, isFixed }) => (isFixed ? `=${value}` : value));

const results: Record<DialectName, readonly ((text: string) => Fields)[]> = {
  chat: [
    (text) => ({ messages: [{ role: 'tool', tool_call_id: '1', content: text }] }),
    (text) => ({ messages: [{ role: 'tool', tool_call_id: '1', content: [{ type: 'text', text }] }] }),
  ],
  responses: [
    (text) => ({ input: [{ type: 'function_call_output', call_id: '1', output: text }] }),
    (text) => ({
      input: [{ type: 'function_call_output', call_id: '1', output: [{ type: 'input_text', text }] }],
    }),
    (text) => ({ input: [{ type: 'mcp_call', id: '1', arguments: '{}', output: text }] }),
  ],
  messages: [
    (text) => ({
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: text }] }],
    }),
    (text) => ({
      messages: [
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text }] }],
        },
      ],
    }),
  ],
  gemini: [
    (text) => ({ contents: [{ role: 'user', parts: [{ functionResponse: { response: text } }] }] }),
    (text) => ({ contents: [{ role: 'user', parts: [{ functionResponse: { response: [text] } }] }] }),
  ],
};

const places = Object.entries(results).flatMap(([name, requests]) =>
  requests.map((request) => [name as DialectName, request] as const),
);

describe.each(places)('a result of a tool in %s, %#', (name, request) => {
  const escaped = String.raw`{"name":"M\u00fcller","list":["a\/b",17]}`;

  it('is read decoded if it is JSON with escapes', () => {
    expect(resultsIn(name, request(escaped))).toEqual(['=name', 'Müller', '=list', 'a/b', '17']);
  });

  it('is read as it is without escapes, and if it is no JSON', () => {
    for (const text of ['{"name":"Müller","list":[17]}', String.raw`{"M\u00fcller`, String.raw`M\u00fcller`])
      expect(resultsIn(name, request(text))).toEqual([text]);
  });

  it('is read decoded in strings of JSON in it, to a depth', () => {
    const twice = JSON.stringify({ inner: escaped });
    expect(resultsIn(name, request(twice))).toContain('Müller');
    const deep = Array.from({ length: 8 }).reduce<string>((inner) => JSON.stringify([inner]), escaped);
    expect(resultsIn(name, request(deep))).toHaveLength(1);
  });

  it('is rewritten at any depth', () => {
    const twice = (value: string): string => JSON.stringify({ a: 1, inner: value, b: 2 });
    const body = JSON.stringify(request(twice(escaped)));
    const view = viewOf(name, body);
    const viewText = view.texts.find(({ value }) => value === 'Müller');
    if (viewText === undefined) throw new Error('the view has no such text');
    const changed = atOnce(view.rewritten([{ viewText, from: 0, until: 6, text: '"X"' }])).toString();
    expect(changed).toBe(
      JSON.stringify(request(twice(escaped.replace(String.raw`M\u00fcller`, String.raw`\"X\"`)))),
    );
  });
});

describe('a text of the client', () => {
  it('is read as it is', () => {
    const text = String.raw`{"name":"M\u00fcller"}`;
    const { texts } = viewOf('chat', JSON.stringify({ messages: [{ role: 'user', content: text }] }));
    expect(texts.map(({ value }) => value)).toEqual([text]);
  });
});
