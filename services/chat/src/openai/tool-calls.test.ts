import { expect, it } from '@jest/globals';
import { chunkOf, MessageBuilder } from './tool-calls.ts';

it('pieces of an answer never reach the prototype of all objects', () => {
  const frame = (delta: string) => Buffer.from(`data: {"choices":[{"index":0,"delta":${delta}}]}\n\n`);
  const answer = new MessageBuilder();
  for (const delta of [
    '{"content":"hi","__proto__":{"polluted":true}}',
    '{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","__proto__":{"polluted":true}}}]}',
    '{"constructor":{"prototype":{"polluted":true}}}',
  ]) {
    const chunk = chunkOf(frame(delta)) as { choices: { delta: Record<string, unknown> }[] };
    answer.add(chunk.choices[0]?.delta ?? {});
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(answer.built.message).toMatchObject({ content: 'hi' });
});
