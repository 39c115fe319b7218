import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { dialects } from '../dialects.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';

/** The ends of answers: how each provider says them, and what clients of the other APIs make of it. */

type Said = 'complete' | 'cut' | 'calls' | 'refused' | 'error';

/** A whole answer of each API with a text and this end. */
const wholes: Readonly<Record<DialectName, (word: string | undefined, more?: Fields) => Fields>> = {
  chat: (word, more) => ({
    choices: [{ index: 0, finish_reason: word, message: { role: 'assistant', content: 'Hi', ...more } }],
  }),
  responses: (word = '', more) => {
    const [status, reason] = word.split(' ');
    const said = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }], ...more };
    return { status, incomplete_details: reason === undefined ? null : { reason }, output: [said] };
  },
  messages: (word, more) => ({
    ...{ type: 'message', content: [{ type: 'text', text: 'Hi' }], usage: {} },
    ...{ stop_reason: word, ...more },
  }),
  gemini: (word, more) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: word, ...more }],
  }),
};

/** The same end as a client reads it. */
const readers: Readonly<Record<DialectName, (answer: Fields) => Said | undefined>> = {
  chat: (answer) => {
    const { finish_reason: reason } = (answer['choices'] as Fields[])[0] ?? {};
    return words({ stop: 'complete', length: 'cut', tool_calls: 'calls', content_filter: 'refused' }, reason);
  },
  responses: ({ status, incomplete_details: details, output }) => {
    if (JSON.stringify(output).includes('"refusal"')) return 'refused';
    const { reason } = Object(details) as Fields;
    if (status === 'completed') return JSON.stringify(output).includes('_call"') ? 'calls' : 'complete';
    return words({ max_output_tokens: 'cut', content_filter: 'refused' }, reason);
  },
  messages: ({ stop_reason: reason }) =>
    words(
      {
        ...{ end_turn: 'complete', stop_sequence: 'complete', max_tokens: 'cut', tool_use: 'calls' },
        ...{ model_context_window_exceeded: 'cut', pause_turn: 'cut', refusal: 'refused' },
      },
      reason,
    ),
  gemini: (answer) => {
    const [{ finishReason, content } = {}] = answer['candidates'] as Fields[];
    if (finishReason === 'STOP')
      return JSON.stringify(content).includes('functionCall') ? 'calls' : 'complete';
    return words({ MAX_TOKENS: 'cut', SAFETY: 'refused' }, finishReason);
  },
};

function words(known: Readonly<Record<string, Said>>, word: unknown): Said | undefined {
  return known[String(word)];
}

const names: readonly DialectName[] = ['chat', 'responses', 'messages', 'gemini'];

const ends: Readonly<Record<DialectName, Readonly<Record<string, Said>>>> = {
  chat: {
    ...{ stop: 'complete', length: 'cut', tool_calls: 'complete', function_call: 'complete' },
    ...{ content_filter: 'refused', eos: 'complete', end_turn: 'complete', MAX_TOKENS: 'cut' },
    ...{ model_length: 'cut', sensitive: 'refused', '': 'complete' },
    ...{ error: 'error', abort: 'error', insufficient_system_resource: 'error', newer: 'error' },
  },
  responses: {
    ...{ completed: 'complete', 'incomplete max_output_tokens': 'cut', 'incomplete steered': 'cut' },
    ...{ 'incomplete content_filter': 'refused', cancelled: 'error', in_progress: 'error' },
    ...{ queued: 'error', newer: 'error' },
  },
  messages: {
    ...{ end_turn: 'complete', max_tokens: 'cut', stop_sequence: 'complete', tool_use: 'complete' },
    ...{ pause_turn: 'cut', compaction: 'cut', refusal: 'refused', newer: 'error' },
    model_context_window_exceeded: 'cut',
  },
  gemini: {
    ...{ STOP: 'complete', MAX_TOKENS: 'cut', CONTINUATION: 'cut', OTHER: 'error', NEWER: 'error' },
    ...{ MALFORMED_FUNCTION_CALL: 'error', UNEXPECTED_TOOL_CALL: 'error', TOO_MANY_TOOL_CALLS: 'error' },
    ...{ MISSING_THOUGHT_SIGNATURE: 'error', MALFORMED_RESPONSE: 'error', ESCALATION: 'error' },
    ...{ IMAGE_OTHER: 'error', NO_IMAGE: 'error', PUP_LIMITED_DISABLED: 'error' },
    ...{ FINISH_REASON_UNSPECIFIED: 'complete', SAFETY: 'refused', RECITATION: 'refused' },
    ...{ LANGUAGE: 'refused', BLOCKLIST: 'refused', PROHIBITED_CONTENT: 'refused', SPII: 'refused' },
    ...{ IMAGE_SAFETY: 'refused', IMAGE_PROHIBITED_CONTENT: 'refused', IMAGE_RECITATION: 'refused' },
  },
};

const pairs = names.flatMap((upstream) =>
  names.filter((client) => client !== upstream).map((client) => [client, upstream] as const),
);

async function wholeOf(
  client: DialectName,
  upstream: DialectName,
  answer: Fields,
): Promise<Said | undefined> {
  const bytes = Buffer.from(JSON.stringify(answer));
  const written = await translationBetween(client, upstream, facts).whole(bytes, null);
  return 'bytes' in written ? readers[client](JSON.parse(writtenIn(written).toString()) as Fields) : 'error';
}

/** The same answer in a stream, put together again by the client's dialect. */
async function streamOf(
  client: DialectName,
  upstream: DialectName,
  answer: Fields,
): Promise<Said | undefined> {
  const stream = translationBetween(client, upstream, facts).stream();
  const frames = dialects[upstream].streamFrames(Buffer.from(JSON.stringify(answer)));
  const written = [...frames.flatMap((frame) => stream.frames(frame)), ...stream.end()];
  const reader = dialects[client].streamReader(1, true);
  const kinds = written.map((frame) => reader.read(frame));
  if (stream.error !== null) return 'error';
  expect(reader.complete || kinds.includes('done')).toBe(true);
  const builder = dialects[client].answerBuilder();
  for (const frame of written) builder.add(frame);
  return readers[client](JSON.parse(String(builder.built)) as Fields);
}

describe('the end of an answer', () => {
  it.each(pairs)(
    'is what its provider says, for a client of %s with a model of %s',
    async (client, upstream) => {
      for (const [word, said] of Object.entries(ends[upstream])) {
        const answer = wholes[upstream](word === '' ? undefined : word);
        // Calls are complete, too, where there are none.
        const seen = (read: Said | undefined): unknown => [word, read === 'calls' ? 'complete' : read];
        expect(seen(await wholeOf(client, upstream, answer))).toEqual([word, said]);
        if (upstream === 'responses' && !/^(?:completed|incomplete)/.test(word)) continue;
        if (upstream === 'gemini' && word === 'FINISH_REASON_UNSPECIFIED') continue;
        if (word === '') continue;
        expect(seen(await streamOf(client, upstream, answer))).toEqual([word, said]);
      }
    },
  );

  const refusal = { type: 'refusal', refusal: 'I will not.' };
  it.each([
    ['messages', 'chat', wholes.chat('stop', { content: null, refusal: refusal.refusal })],
    ['gemini', 'chat', wholes.chat('stop', { content: null, refusal: refusal.refusal })],
    ['responses', 'chat', wholes.chat('stop', { content: null, refusal: refusal.refusal })],
    ['messages', 'responses', wholes.responses('completed', { content: [refusal] })],
    ['gemini', 'responses', wholes.responses('completed', { content: [refusal] })],
    ['chat', 'responses', wholes.responses('completed', { content: [refusal] })],
  ] as const)('is a refusal where the provider says one, for %s of %s', async (client, upstream, answer) => {
    expect(await wholeOf(client, upstream, answer)).toBe('refused');
    expect(await streamOf(client, upstream, answer)).toBe('refused');
  });

  const picture = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  it.each([
    ['messages', 'gemini', wholes.gemini('STOP', { content: { parts: [{ text: 'Hi' }, picture] } })],
    ['chat', 'gemini', wholes.gemini('STOP', { content: { parts: [{ text: 'Hi' }, picture] } })],
    ['responses', 'chat', wholes.chat('stop', { images: [image] })],
  ] as const)('is an error where an image would be lost, for %s of %s', async (client, upstream, answer) => {
    expect(await wholeOf(client, upstream, answer)).toBe('error');
    expect(await streamOf(client, upstream, answer)).toBe('error');
  });

  it('has the text of what a sound says', async () => {
    const answer = wholes.chat('stop', { content: null, audio: { data: 'AAAA', transcript: 'Hello.' } });
    const bytes = await translationBetween('messages', 'chat', facts).whole(
      Buffer.from(JSON.stringify(answer)),
      null,
    );
    expect(writtenIn(bytes).toString()).toContain('"text":"Hello."');
  });
});
