import { expect, it } from '@jest/globals';
import { ChatAnswerBuilder } from './openai-chat/response-mode.ts';
import { ResponseBuilder } from './openai-responses/response-mode.ts';

/** Deeper than the recursion of `writeJson` reaches. */
const depth = 3_000;

it.each([
  [
    'chat completions',
    new ChatAnswerBuilder(),
    (metadata: string) =>
      `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"metadata":${metadata}}`,
  ],
  [
    'responses',
    new ResponseBuilder(),
    (metadata: string) =>
      `data: {"type":"response.completed","response":{"id":"r","output":[],"metadata":${metadata}}}`,
  ],
])('a unary answer of %s has nested fields of its stream', (_api, builder, frame) => {
  const metadata = '['.repeat(depth) + ']'.repeat(depth);
  builder.add(Buffer.from(`${frame(metadata)}\n\n`));
  expect(String(builder.built)).toContain(`"metadata":${metadata}`);
});
