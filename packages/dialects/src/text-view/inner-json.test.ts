import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { InnerJson } from './inner-json.ts';
import { TextView } from './text-view.ts';

describe('JSON in strings', () => {
  const list = (length: number): string => `[${Array.from({ length }, () => '1').join(',')}]`;

  it('is an object or a list', () => {
    const inner = new InnerJson();
    for (const value of ['', 'text', '"text"', '1', '[note] this', '{"a":', `[1]${' '.repeat(9)},`])
      expect(atOnce(inner.documentIn(value))).toEqual({ json: null, isTooMuch: false });
    expect(atOnce(inner.documentIn(' {"a":[]}')).json?.toString()).toBe(' {"a":[]}');
  });

  it('is too much by all strings of a document together', () => {
    const inner = new InnerJson();
    expect(atOnce(inner.documentIn(list(300_000))).isTooMuch).toBe(false);
    expect(atOnce(inner.documentIn(list(300_000)))).toEqual({ json: null, isTooMuch: true });
    expect(atOnce(inner.documentIn(list(100_000))).isTooMuch).toBe(false);
  });

  it('is a text and unreadable beyond the bound', () => {
    const call = (text: string): object => ({ function: { name: 'send', arguments: text } });
    const messages = [{ role: 'assistant', tool_calls: [call('{"a":"b"}'), call(list(600_000))] }];
    const body = Buffer.from(JSON.stringify({ messages }));
    const { texts, unreadable } = atOnce(TextView.read(body, dialects.chat.texts.request));
    expect(texts.map(({ value }) => value)).toContain('b');
    expect(texts.map(({ value }) => value)).toContain(list(600_000));
    expect(unreadable.map(({ param }) => param)).toEqual(['messages[0].tool_calls[1].function.arguments']);
  });

  it('gives way to other work by its bytes', () => {
    const call = { function: { name: 'send', arguments: JSON.stringify({ text: 'x'.repeat(100_000) }) } };
    const messages = [{ role: 'assistant', tool_calls: Array.from({ length: 20 }, () => call) }];
    const steps = TextView.read(Buffer.from(JSON.stringify({ messages })), dialects.chat.texts.request);
    let count = 0;
    while (steps.next().done !== true) count += 1;
    expect(count).toBeGreaterThanOrEqual(20);
  });
});
