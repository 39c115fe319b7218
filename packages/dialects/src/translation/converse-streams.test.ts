import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { EventReader } from '../anthropic-messages/stream.ts';
import { ConverseSource } from '../bedrock-converse/stream.ts';
import { exceptionFrame } from '@gatehouse/test/aws-frames';
import { eventFrame, passedFrames } from '@gatehouse/test/converse-provider';
import { answerOf, facts } from '@gatehouse/test/translation-samples';
import { answerIn, writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const claude = { ...facts, name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' };

const start = eventFrame('messageStart', { role: 'assistant' });
const delta = (index: number, change: Fields): Buffer =>
  eventFrame('contentBlockDelta', { contentBlockIndex: index, delta: change });
const stopped = (index: number): Buffer => eventFrame('contentBlockStop', { contentBlockIndex: index });
const stop = (reason: string): Buffer => eventFrame('messageStop', { stopReason: reason });
const usage = {
  ...{ inputTokens: 5, outputTokens: 2, totalTokens: 14, cacheReadInputTokens: 3, cacheWriteInputTokens: 4 },
  cacheDetails: [{ ttl: '1h', inputTokens: 1 }],
};
const metadata = eventFrame('metadata', { usage, metrics: { latencyMs: 1 } });

/** The frames that a client gets for a provider's. */
function streamed(from: DialectName, frames: readonly Buffer[]): string {
  const stream = translationBetween(from, 'converse', claude).stream();
  const passed = passedFrames(Buffer.concat(frames)).flatMap((frame) => stream.frames(frame));
  return Buffer.concat([...passed, ...stream.end()]).toString();
}

function read(frames: readonly Buffer[]): ReturnType<typeof answerOf> {
  const source = new ConverseSource(claude);
  const events = passedFrames(Buffer.concat(frames)).flatMap((frame) => source.read(frame));
  return answerOf([...events, ...source.end()]);
}

describe('a stream of Converse', () => {
  it('has texts and thoughts that begin with their first piece, and calls of no input', () => {
    const toolUse = { toolUseId: 'a', name: 'f' };
    const answer = read([
      ...[
        start,
        delta(0, { reasoningContent: { text: 'h' } }),
        delta(0, { reasoningContent: { text: 'm' } }),
      ],
      ...[delta(0, { reasoningContent: { signature: 'c2' } })],
      ...[delta(0, { reasoningContent: { signature: 'ln' } }), stopped(0)],
      ...[delta(1, { reasoningContent: { redactedContent: 'AAAA' } })],
      ...[delta(1, { reasoningContent: { redactedContent: 'BB==' } }), stopped(1)],
      ...[delta(2, { text: 'Yes' }), delta(2, { text: '.' }), stopped(2)],
      eventFrame('contentBlockStart', { contentBlockIndex: 3, start: { toolUse } }),
      ...[stopped(3), stop('tool_use'), metadata],
    ]);
    expect(answer).toMatchObject({
      isWhole: true,
      stop: { reason: 'calls' },
      parts: [
        { kind: 'thinking', text: 'hm', signature: { origin: 'anthropic', text: 'c2ln', isRedacted: false } },
        { kind: 'thinking', signature: { text: 'AAAABA==', isRedacted: true } },
        { kind: 'text', text: 'Yes.' },
        { kind: 'call', id: 'a', argumentsText: '{}' },
      ],
    });
  });

  it('counts cached tokens on top of the others', () => {
    const { usage: counted } = read([start, delta(0, { text: 'a' }), stop('end_turn'), metadata]);
    expect(counted).toMatchObject({
      ...{ inputTokens: 12, cachedInputTokens: 3, cacheWriteTokens: 4, outputTokens: 2 },
      parts: { cacheWrite1h: 1, cacheWrite: 3 },
    });
  });

  it.each([
    ['end_turn', 'end_turn'],
    ['max_tokens', 'max_tokens'],
    ['stop_sequence', 'stop_sequence'],
    ['content_filtered', 'refusal'],
    ['guardrail_intervened', 'refusal'],
    ['model_context_window_exceeded', 'model_context_window_exceeded'],
  ])('says %s as the client’s API does', (reason, shown) => {
    const text = streamed('messages', [start, delta(0, { text: 'a' }), stop(reason), metadata]);
    expect(text).toContain(`"stop_reason":"${shown}"`);
  });

  it('names the sequence that stopped it', () => {
    const end = { stopReason: 'stop_sequence', additionalModelResponseFields: { stop_sequence: 'END' } };
    const text = streamed('messages', [
      start,
      delta(0, { text: 'a' }),
      eventFrame('messageStop', end),
      metadata,
    ]);
    expect(text).toContain('"stop_sequence":"END"');
  });

  it.each(['malformed_tool_use', 'malformed_model_output', 'something_new'])(
    'with %s is an error, with its usage',
    (reason) => {
      const stream = translationBetween('chat', 'converse', claude).stream();
      const frames = passedFrames(Buffer.concat([start, delta(0, { text: 'a' }), stop(reason), metadata]));
      const text = Buffer.concat(frames.flatMap((frame) => stream.frames(frame))).toString();
      expect(stream.error?.message).toContain(reason);
      expect(text).not.toMatch(/DONE|"finish_reason":"/);
      expect(stream.usage).toMatchObject({ outputTokens: 2 });
    },
  );

  it('is cut without its stop, whatever else has come', () => {
    const text = streamed('messages', [start, delta(0, { text: 'a' }), stopped(0), metadata]);
    const reader = new EventReader();
    for (const frame of text.split(/(?<=\n\n)/)) reader.read(Buffer.from(frame));
    expect(reader.complete).toBe(false);
    expect(text).not.toContain('message_stop');
  });

  it('is whole once it stopped, also without usage', () => {
    expect(read([start, delta(0, { text: 'a' }), stop('end_turn')])).toMatchObject({
      isWhole: true,
      usage: null,
    });
  });

  it.each([
    ['throttlingException', 429],
    ['serviceUnavailableException', 503],
    ['modelStreamErrorException', 502],
    ['internalServerException', 500],
    ['somethingNewException', 500],
  ])('ends with the error %s, without words that may name the account', (name, status) => {
    const answer = read([start, delta(0, { text: 'a' }), exceptionFrame(name, 'arn:aws:iam::1'), metadata]);
    expect(answer.isWhole).toBe(false);
    expect(answer.broken).toEqual({ status });
  });

  it('keeps the words of an error that concerns the request', () => {
    const translation = translationBetween('messages', 'converse', claude);
    const stream = translation.stream();
    const exception = exceptionFrame('validationException', 'Input is too long for the model.');
    for (const frame of passedFrames(exception)) expect(stream.frames(frame)).toEqual([]);
    expect(translation.error(stream.error ?? {})).toMatchObject({
      status: 400,
      message: 'prompt is too long: Input is too long for the model.',
    });
  });

  it('reads 100,000 pieces of a call, and as many of a thought', () => {
    const toolUse = { toolUseId: 'a', name: 'f' };
    const source = new ConverseSource(claude);
    const [begin, piece, thought] = passedFrames(
      Buffer.concat([
        eventFrame('contentBlockStart', { contentBlockIndex: 0, start: { toolUse } }),
        delta(0, { toolUse: { input: '1' } }),
        delta(1, { reasoningContent: { text: 'h' } }),
      ]),
    );
    if (begin === undefined || piece === undefined || thought === undefined) throw new Error('no frames');
    source.read(begin);
    let events = 0;
    for (let count = 0; count < 100_000; count += 1) events += source.read(piece).length;
    expect(events).toBe(100_000);
    // The thought waits for the end of the call.
    expect(() => {
      for (let count = 0; count < 1_000_000; count += 1) source.read(thought);
    }).toThrow('too many parts at the same time');
  });

  it.each([
    ['signatures', delta(0, { reasoningContent: { signature: 'x'.repeat(1_000) } })],
    ['encrypted thoughts', delta(0, { reasoningContent: { redactedContent: 'A' } })],
  ])('is bounded where %s come without end', (_kind, bytes) => {
    const source = new ConverseSource(claude);
    const [frame] = passedFrames(bytes);
    if (frame === undefined) throw new Error('there is no frame');
    expect(() => {
      for (let count = 0; count < 100_000; count += 1) source.read(frame);
    }).toThrow('too long');
  });

  it('has no more blocks at the same time than any answer', () => {
    expect(() => read(Array.from({ length: 5_000 }, (_each, index) => delta(index, { text: 'a' })))).toThrow(
      'too many blocks',
    );
  });
});

describe('thoughts of Claude in Converse', () => {
  const answer = {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'So', signature: 'c2ln' } } },
          { reasoningContent: { redactedContent: 'ZGF0YQ==' } },
          { toolUse: { toolUseId: 'a', name: 'f', input: {} } },
        ],
      },
    },
    ...{ stopReason: 'tool_use', usage },
  };

  const again = async (name: string): Promise<Fields[]> => {
    const first = translationBetween('messages', 'converse', claude);
    const said = JSON.parse(
      writtenIn(await first.whole(Buffer.from(JSON.stringify(answer)), null)).toString(),
    ) as Fields;
    const request = {
      ...{ max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: said['content'] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
      ],
    };
    const second = translationBetween('messages', 'converse', { ...facts, name });
    const { body } = await second.request(Pieces.from(Buffer.from(JSON.stringify(request))), {
      tenantId: null,
    });
    return (JSON.parse(body.toString()) as { messages: Fields[] }).messages;
  };

  it('go back whole, to it alone', async () => {
    expect((await again(claude.name))[1]).toEqual(answer.output.message);
    expect((await again('openai.gpt-oss-120b-1:0'))[1]).toEqual({
      role: 'assistant',
      content: [{ toolUse: { toolUseId: 'a', name: 'f', input: {} } }],
    });
  });

  it('stay beside the answer for clients of chat completions, and go back with its call', async () => {
    const first = translationBetween('chat', 'converse', claude);
    const { bytes, thoughts } = answerIn(await first.whole(Buffer.from(JSON.stringify(answer)), null));
    const { choices } = JSON.parse(bytes.toString()) as { choices: { message: Fields }[] };
    const result = { role: 'tool', tool_call_id: 'a', content: 'x' };
    const request = {
      ...{ max_tokens: 9_000, reasoning_effort: 'low' },
      messages: [{ role: 'user', content: 'Go' }, choices[0]?.message, result],
    };
    const known = new Map(thoughts.map((call) => [call.id, call.thoughts]));
    const second = translationBetween('chat', 'converse', claude);
    const { body } = await second.request(Pieces.from(Buffer.from(JSON.stringify(request))), {
      ...{ tenantId: null, thoughts: known },
    });
    const { messages } = JSON.parse(body.toString()) as { messages: Fields[] };
    expect(messages[1]).toEqual(answer.output.message);
  });
});
