import { expect, it } from '@jest/globals';
import { maxFilledBytes, maxFilledParts } from '../bounds.ts';
import type { ReasoningFill } from '../reasoning-rewrite.ts';
import { applyEdits } from '../wire/json-edits.ts';
import { filledMessages, fillMessages } from './filled-messages.ts';

const filled = (text: string, fill: ReasoningFill): string => {
  const body = Buffer.from(text);
  return applyEdits(body, fillMessages(body, { valueStart: 0, valueEnd: body.length }, fill)).toString();
};
const call = '[{"id":"c"}]';

it.each<[fill: ReasoningFill, before: string, after: string]>([
  [
    'calls',
    `[ {"tool_calls" : ${call} , "role":"assistant" } ]`,
    `[ {"tool_calls" : ${call} , "role":"assistant","reasoning_content":"" } ]`,
  ],
  ['calls', '[{"role":"assistant","tool_calls":[ ]}]', '[{"role":"assistant","tool_calls":[ ]}]'],
  [
    'calls',
    '[{"role":"assistant","function_call":{"name":"f"}}]',
    '[{"role":"assistant","function_call":{"name":"f"},"reasoning_content":""}]',
  ],
  ['calls', `[{"role":"user","tool_calls":${call}}]`, `[{"role":"user","tool_calls":${call}}]`],
  [
    'all',
    '[{"role":"\\u0061ssistant","n":1.0}]',
    '[{"role":"\\u0061ssistant","n":1.0,"reasoning_content":""}]',
  ],
  [
    'all',
    '[{"role":"assistant","reasoning_content":[],"content":"a"}]',
    '[{"role":"assistant","reasoning_content":"","content":"a"}]',
  ],
  [
    'all',
    '[{"role":"assistant","reasoning_content":"","content":"a"}]',
    '[{"role":"assistant","reasoning_content":"","content":"a"}]',
  ],
  [
    'space',
    '[{"role":"assistant","reasoning_content":"","content":"a"}]',
    '[{"role":"assistant","reasoning_content":" ","content":"a"}]',
  ],
  [
    'space',
    '[{"role":"assistant","reasoning_content":"Hm."}]',
    '[{"role":"assistant","reasoning_content":"Hm."}]',
  ],
  ['none', '[{"reasoning_content":"Hm.","role":"assistant"}]', '[{"role":"assistant"}]'],
  [
    'none',
    '[{"role":"assistant","reasoning_content":"Hm."},{"role":"user","reasoning_content":"a"}]',
    '[{"role":"assistant"},{"role":"user","reasoning_content":"a"}]',
  ],
  ['all', '[{},1,"assistant",null,[{"role":"assistant"}]]', '[{},1,"assistant",null,[{"role":"assistant"}]]'],
  ['all', '[]', '[]'],
  ['all', '{"role":"assistant"}', '{"role":"assistant"}'],
])('%s: %s', (fill, before, after) => {
  expect(filled(before, fill)).toBe(after);
});

it('messages of the gateway are filled in as well', () => {
  const messages = [`{"role":"assistant","tool_calls":${call}}`, '{"role":"tool"}'];
  expect(filledMessages(messages, undefined)).toBe(messages);
  expect(filledMessages(messages, 'calls').join(',')).toBe(
    `{"role":"assistant","tool_calls":${call},"reasoning_content":""},{"role":"tool"}`,
  );
});

it.each([
  ['parts', `[${Array.from({ length: maxFilledParts }, () => '{"role":"assistant"}').join(',')}]`],
  [
    'members',
    `[{${Array.from({ length: maxFilledParts }, (_, n) => `"n${n}":0`).join(',')},"role":"assistant"}]`,
  ],
  ['bytes', `[{"role":"assistant","content":"${'a'.repeat(maxFilledBytes)}"}]`],
])('a list of too many %s stays', (_case, text) => {
  const body = Buffer.from(text);
  expect(fillMessages(body, { valueStart: 0, valueEnd: body.length }, 'all')).toEqual([]);
});
