import { describe, expect, it } from '@jest/globals';
import { geminiDialect } from './dialect.ts';
import { ResponseReader, frameOf } from './stream.ts';

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };
const text = (piece: string, fields: object = {}, index = 0): Buffer =>
  frameOf({
    candidates: [{ content: { role: 'model', parts: [{ text: piece }] }, index, ...fields }],
    modelVersion: 'gemini-x',
  });
const end = (fields: object = { usageMetadata }): Buffer =>
  frameOf({ candidates: [{ content: { parts: [{ text: '!' }] }, finishReason: 'STOP' }], ...fields });

function reading(...frames: readonly Buffer[]): { reader: ResponseReader; kinds: string[] } {
  const reader = new ResponseReader(true);
  return { reader, kinds: frames.map((each) => reader.read(each)) };
}

describe('a stream of responses', () => {
  it('is read on its way, and any frame behind the finish reasons may be the last', () => {
    const { reader, kinds } = reading(text('Hello'), text(' you'), end(), frameOf({ usageMetadata }));
    expect(kinds).toEqual(['chunk', 'chunk', 'last', 'last']);
    expect(reader).toMatchObject({
      ...{ begun: true, complete: true, responseModel: 'gemini-x', keptText: 'Hello you!', error: null },
      usage: { inputTokens: 10, outputTokens: 4, estimated: false },
    });
    expect(reader.answer).toEqual({ beginning: 'Hello you!', chars: 10 });
    expect(reader.endFrames()).toEqual([]);
  });

  it('begins with its first part, so that until then another provider can answer', () => {
    const { reader, kinds } = reading(frameOf({ usageMetadata, candidates: [{ index: 0 }] }));
    expect([reader.begun, reader.complete, ...kinds]).toEqual([false, false, 'chunk']);
    expect(reading(end()).reader.begun).toBe(true);
  });

  it('is complete once each candidate that has begun has its end', () => {
    const { reader, kinds } = reading(
      text('a'),
      text('b', {}, 1),
      text('', { finishReason: 'STOP' }),
      text('', { finishReason: 'MAX_TOKENS' }, 1),
    );
    expect(kinds).toEqual(['chunk', 'chunk', 'chunk', 'last']);
    expect(reader.keptText).toBe('a');
    expect(reading(text('a', { finishReason: 'FINISH_REASON_UNSPECIFIED' })).reader.complete).toBe(false);
  });

  it('that has a finish reason in each frame goes on', () => {
    const { reader, kinds } = reading(
      text('a', { finishReason: 'STOP' }),
      text('b', { finishReason: 'STOP' }),
    );
    expect(kinds).toEqual(['last', 'last']);
    expect(reader.answer.beginning).toBe('ab');
  });

  it('of a prompt that was blocked is an answer', () => {
    const { reader, kinds } = reading(frameOf({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata }));
    expect(kinds).toEqual(['last']);
    expect(reader).toMatchObject({ begun: true, complete: true, keptText: '', usage: { inputTokens: 10 } });
  });

  it('counts thoughts and calls of tools as its answer, and keeps what is said', () => {
    const parts = [
      { text: 'hm', thought: true },
      { text: '', thoughtSignature: 'c2ln' },
      { functionCall: { name: 'search', args: { q: 1 } }, thoughtSignature: 'c2ln' },
    ];
    const { reader } = reading(frameOf({ candidates: [{ content: { parts } }] }), text('said'));
    expect(reader.answer.beginning).toBe('hmsearch{"q":1}said');
    expect(reader.keptText).toBe('');
    const thought = frameOf({ candidates: [{ content: { parts: parts.slice(0, 2) } }] });
    expect(reading(thought, text('said')).reader.keptText).toBe('said');
  });

  it('has the newest usage, with thoughts, cached tokens and modalities, and no zeros of a last frame', () => {
    const first = { ...usageMetadata, cachedContentTokenCount: 6, candidatesTokenCount: 1 };
    const last = {
      ...{ promptTokenCount: 0, candidatesTokenCount: 4, thoughtsTokenCount: 3 },
      promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 2 }],
    };
    const { reader } = reading(
      text('a', {}),
      frameOf({ usageMetadata: first }),
      end({ usageMetadata: last }),
    );
    expect(reader.usage).toMatchObject({
      ...{ inputTokens: 10, cachedInputTokens: 6, outputTokens: 7, reasoningTokens: 3 },
      parts: { inputAudio: 2, input: 2, cachedInput: 6, output: 4, reasoning: 3 },
    });
  });

  it.each([
    [{ error: { code: 503, message: 'projects/1', status: 'UNAVAILABLE' } }, 503],
    [{ error: { message: 'projects/1', status: 'RESOURCE_EXHAUSTED' } }, 429],
    [{ error: { code: 400, message: 'no' } }, 400],
  ])('fails with the error %j', (fields, status) => {
    const { reader, kinds } = reading(text('a'), frameOf(fields));
    expect([kinds[1], reader.error?.status]).toEqual(['error', status]);
    // The words of others may name the account of the platform.
    expect(reader.error?.message).toBe(status === 400 ? 'no' : undefined);
  });

  it('passes comments and signs of life, and nothing that clients could not read', () => {
    const { kinds } = reading(
      Buffer.from(': hm\n\n'),
      Buffer.from('data: {}\n\n'),
      geminiDialect.keepAlive,
      frameOf({ candidates: [{ content: { parts: [{ thought: true }] } }] }),
      Buffer.from('data: [DONE]\n\n'),
      Buffer.from('event: error\ndata: broken\n\n'),
    );
    expect(kinds).toEqual(['other', 'other', 'other', 'other', 'foreign', 'error']);
    expect(() => reading(Buffer.from('data: {"candidates":\n\n'))).toThrow(SyntaxError);
    expect(() => reading(Buffer.from('data: [1]\n\n'))).toThrow('not an object');
  });

  it('is refused where it would take long to read', () => {
    const candidates = Array.from({ length: 200 }, (_none, index) => ({ index }));
    expect(() => reading(frameOf({ candidates }))).toThrow('too many candidates');
    expect(() => reading(Buffer.from(`data: {"candidates":${'['.repeat(70_000)}\n\n`))).toThrow(
      /too much JSON/,
    );
  });
});
