import { describe, expect, it } from '@jest/globals';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { eventOf } from './events.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween } from '../translation/translation.ts';
import { writtenIn } from '../../test/translating.ts';
import { Pieces } from '../wire/pieces.ts';

/** Responses of models of other APIs repeat what their request asked for. */

const completion = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm-1' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi.' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const chunk = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm-1' },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
};
const frames = [`data: ${JSON.stringify(chunk)}\n\n`, 'data: [DONE]\n\n'].map((frame) => Buffer.from(frame));

const asked = {
  ...{ instructions: 'Be kind.', temperature: 0.5, top_p: 0.9, max_output_tokens: 100 },
  tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
  ...{
    tool_choice: 'required',
    parallel_tool_calls: false,
    metadata: { a: 'b' },
    reasoning: { effort: 'low' },
  },
};

async function answersTo(
  request: Fields | string,
): Promise<{ whole: Fields; text: string; events: Fields[] }> {
  const text =
    typeof request === 'string' ? request : JSON.stringify({ model: 'm', input: 'Go', ...request });
  const translation = translationBetween('responses', 'chat', facts);
  await translation.request(Pieces.from(Buffer.from(text)), { tenantId: null });
  const bytes = writtenIn(await translation.whole(Buffer.from(JSON.stringify(completion)), null));
  const stream = translation.stream();
  const events = [...frames.flatMap((frame) => stream.frames(frame)), ...stream.end()].map(
    (frame) => eventOf(frame)?.fields ?? {},
  );
  return { whole: JSON.parse(bytes.toString()) as Fields, text: bytes.toString(), events };
}

describe('a translated response', () => {
  it('shows what its request asked for, whole and in the events of a stream', async () => {
    const { whole, events } = await answersTo(asked);
    expect(whole).toMatchObject({ ...asked, text: { format: { type: 'text' } }, output: [{}] });
    const responses = events.map(({ response }) => response).filter(isFields);
    expect(responses.map(({ status }) => status)).toEqual(['in_progress', 'in_progress', 'completed']);
    for (const response of responses) expect(response).toMatchObject(asked);
  });

  it('has the defaults of what its request left out or set to null', async () => {
    const { whole } = await answersTo({ temperature: null, tools: null, text: { verbosity: 'low' } });
    expect(whole).toMatchObject({
      ...{ instructions: null, temperature: null, top_p: null, max_output_tokens: null, metadata: {} },
      ...{ tools: [], tool_choice: 'auto', parallel_tool_calls: true },
      text: { format: { type: 'text' }, verbosity: 'low' },
    });
    expect(whole).not.toHaveProperty('reasoning');
  });

  it('keeps numbers and the order of names as they were written', async () => {
    const tools =
      '[{"type":"function","name":"f","strict":false,"parameters":{"2":1.0,"1":12345678901234567890}}]';
    const { text } = await answersTo(`{"model":"m","input":"Go","tools":${tools}}`);
    expect(text).toContain(`"tools":${tools}`);
  });

  it('repeats long texts of a large request as well', async () => {
    const instructions = 'Be "kind". '.repeat(1_000);
    const request = { model: 'm', input: 'x'.repeat(1_100_000), instructions, text: { note: instructions } };
    const { whole } = await answersTo(JSON.stringify(request));
    const text = { format: { type: 'text' }, note: instructions };
    expect(whole).toMatchObject({ instructions, text });
  });

  it('does not repeat what is too large', async () => {
    const description = 'x'.repeat(300_000);
    const { whole, text } = await answersTo({ ...asked, tools: [{ ...asked.tools[0], description }] });
    expect(whole).toMatchObject({ ...asked, tools: [] });
    expect(text.length).toBeLessThan(5_000);
  });
});
