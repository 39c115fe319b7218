import { describe, expect, it } from '@jest/globals';
import { dataOf, streamProblems } from './event-stream.ts';

const head = { id: 'x', created: 1, model: 'm' };
const first = { ...head, choices: [{ index: 0, delta: { role: 'assistant' } }] };
const second = { ...head, choices: [{ index: 0, delta: { content: 'hi' } }] };
const usage = { ...head, choices: [], usage: { total_tokens: 1 } };

function written(events: readonly unknown[]): string {
  return events.map((event) => `data: ${event === '[DONE]' ? event : JSON.stringify(event)}\n\n`).join('');
}

function problems(
  events: readonly unknown[],
  usageAsked = false,
  headers: Record<string, string> = {},
): string[] {
  const answer = new Response(null, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers },
  });
  return streamProblems(answer, written(events), usageAsked);
}

describe('the rules of a stream', () => {
  it('are kept by a good one', () => {
    expect(problems([first, second, '[DONE]'])).toEqual([]);
    expect(problems([first, second, usage, '[DONE]'], true)).toEqual([]);
  });

  it.each([
    ['no [DONE]', [first, second], '[DONE] comes once, at the end'],
    ['two of them', [first, '[DONE]', '[DONE]'], '[DONE] comes once, at the end'],
    ['another id', [first, { ...second, id: 'y' }, '[DONE]'], 'id, model and created stay the same'],
    ['no role', [second, '[DONE]'], 'the first chunk of a choice has its role'],
    ['no choice', ['[DONE]'], 'there is a choice'],
    ['unasked usage', [first, usage, '[DONE]'], 'no chunk is without choices'],
  ])('see %s', (_what, events, rule) => {
    expect(problems(events)).toContain(rule);
  });

  it.each([
    ['no usage', [first, second, '[DONE]']],
    ['usage twice', [first, usage, usage, '[DONE]']],
    ['usage too early', [first, usage, second, '[DONE]']],
  ])('see %s where it was asked for', (_what, events) => {
    expect(problems(events, true)).toContain('one usage chunk without choices comes last');
  });

  it('see headers that a stream must not have', () => {
    expect(problems([first, '[DONE]'], false, { 'content-length': '9' })).toEqual([
      'content-length is absent',
    ]);
  });

  it('want one line of data in an event', () => {
    expect(() => dataOf('event: x\ndata: 1\n\n')).toThrow('not an event');
    expect(dataOf(': comment\n\ndata: 1\r\n\r\n')).toEqual(['1']);
  });
});
