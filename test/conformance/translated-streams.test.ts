import type { DialectName } from '@gatehouse/contract/dialects';
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { answers, eventsOf, facts } from '../support/translation-samples.ts';
import { translationBetween } from '@gatehouse/dialects/translation/translation';
import { openAiChatTranslation } from '@gatehouse/dialects/openai-chat/translation';
import { anthropicMessagesTranslation } from '@gatehouse/dialects/anthropic-messages/translation';
import { frameData } from '@gatehouse/dialects/wire/sse-frames';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

/** The frames that a client gets for these. */
function streamed(from: DialectName, to: DialectName, frames: readonly Buffer[]): Buffer[] {
  const stream = translationBetween(from, to, facts).stream();
  return [...frames.flatMap((frame) => stream.frames(frame)), ...stream.end()];
}

/** A readable stream of the objects in frames, one in a line, as SDKs write and read them. */
function linesOf(frames: readonly Buffer[]): ReadableStream {
  const data = frames.map((frame) => frameData(frame) ?? '').filter((line) => line !== '[DONE]');
  return new Blob([data.join('\n')]).stream() as ReadableStream;
}

describe('a stream of chat completions for a client of messages', () => {
  it("is what Anthropic's SDK reads", async () => {
    await fc.assert(
      fc.asyncProperty(answers, sizes, async (answer, each) => {
        const writer = openAiChatTranslation.eventWriter();
        const frames = eventsOf(answer, each).flatMap((event) => writer.write(event));
        const written = streamed('messages', 'chat', frames);
        const message = await MessageStream.fromReadableStream(linesOf(written)).finalMessage();
        const calls = answer.parts.filter(({ kind }) => kind === 'call');
        expect(message.content.filter(({ type }) => type === 'tool_use')).toHaveLength(calls.length);
        expect(message.content.map((block) => ('text' in block ? block.text : '')).join('')).toBe(
          answer.parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''),
        );
        const inputs = message.content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : []));
        expect(inputs).toEqual(
          answer.parts.flatMap((part) =>
            part.kind === 'call' ? [JSON.parse(part.argumentsText) as unknown] : [],
          ),
        );
        expect(message.usage).toMatchObject({ cache_read_input_tokens: 3, cache_creation_input_tokens: 4 });
      }),
      { numRuns: 30 },
    );
  });
});

describe('a stream of messages for a client of chat completions', () => {
  it("is what OpenAI's SDK reads", async () => {
    await fc.assert(
      fc.asyncProperty(answers, sizes, async (answer, each) => {
        const writer = anthropicMessagesTranslation.eventWriter();
        const frames = eventsOf(answer, each).flatMap((event) => writer.write(event));
        const written = streamed('chat', 'messages', frames);
        const completion = await ChatCompletionStream.fromReadableStream(
          linesOf(written),
        ).finalChatCompletion();
        const [choice] = completion.choices;
        const texts = answer.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
        expect(choice?.message.content ?? '').toBe(texts.join(''));
        expect(
          choice?.message.tool_calls?.map((call) =>
            call.type === 'function' ? call.function.arguments : '',
          ),
        ).toEqual(
          answer.stop.reason === 'calls'
            ? answer.parts.flatMap((part) => (part.kind === 'call' ? [part.argumentsText] : []))
            : undefined,
        );
        expect(completion.usage).toMatchObject({ prompt_tokens_details: { cached_tokens: 3 } });
      }),
      { numRuns: 30 },
    );
  });
});
