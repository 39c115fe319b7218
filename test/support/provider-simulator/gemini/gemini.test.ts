import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator, type ProviderSimulator } from '../simulator.ts';
import { call } from '../test-client.ts';
import type { Seen } from '../test-client.ts';

let simulator: ProviderSimulator;
beforeAll(async () => {
  simulator = await startProviderSimulator({ apiKey: 'sk-right' });
});
afterAll(() => simulator.close());

const post = (method: string, body: unknown, headers: Record<string, string> = {}): Promise<Seen> =>
  call(simulator, body, {
    path: `/v1beta/models/any%2Fmodel:${method}`,
    headers: { 'x-goog-api-key': 'sk-right', ...headers },
  });
const asking = (text: string, fields: object = {}): object => ({
  contents: [{ role: 'user', parts: [{ text }] }],
  ...fields,
});

describe('content of the simulator', () => {
  it('repeats what was said, whole and as events, with equal usage', async () => {
    const seen = await post('generateContent', asking('Hello there'));
    const whole = JSON.parse(seen.text) as Record<string, unknown>;
    expect(whole).toMatchObject({
      candidates: [
        {
          content: { role: 'model', parts: [{ text: expect.stringContaining('You said: Hello there') }] },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: { promptTokenCount: expect.any(Number), candidatesTokenCount: 10 },
      modelVersion: 'any/model',
    });
    const stream = await post('streamGenerateContent?alt=sse', asking('Hello there'));
    const events = eventsIn(stream.text);
    expect(events).toHaveLength(11);
    expect(events.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: whole['usageMetadata'],
    });
  });

  it('is a stream as an array without `alt=sse`, also with faults and errors', async () => {
    const events = eventsIn((await post('streamGenerateContent?alt=sse', asking('Hello there'))).text);
    const array = await post('streamGenerateContent', asking('Hello there'));
    expect(array.headers['content-type']).toBe('application/json; charset=UTF-8');
    expect(withoutIds(JSON.parse(array.text))).toEqual(withoutIds(events));
    const slow = asking('Hello there', { x_simulator: { comments: true, chunk_delay_ms: 1 } });
    expect(withoutIds(JSON.parse((await post('streamGenerateContent', slow)).text))).toEqual(
      withoutIds(events),
    );
    const failing = asking('Hello there', { x_simulator: { error_event_after_chunks: 2 } });
    expect(JSON.parse((await post('streamGenerateContent', failing)).text)).toEqual([
      ...[expect.anything(), expect.anything()],
      { error: { code: 500, message: expect.any(String), status: 'INTERNAL' } },
    ]);
    const cut = asking('Hello there', { x_simulator: { cut: 'mid_stream' } });
    const half = await post('streamGenerateContent', cut);
    expect([half.complete, half.text.startsWith('[{'), half.text.endsWith(']')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('is a document by a schema of both kinds, or any JSON object', async () => {
    const textOf = async (generationConfig: object): Promise<unknown> => {
      const seen = await post('generateContent', asking('Hello there', { generationConfig }));
      const { candidates } = JSON.parse(seen.text) as {
        candidates: { content: { parts: { text: string }[] } }[];
      };
      return JSON.parse(candidates[0]?.content.parts[0]?.text ?? '') as unknown;
    };
    const responseMimeType = 'application/json';
    const properties = { city: { type: 'string' } };
    const responseJsonSchema = { type: 'object', properties, required: ['city'] };
    const responseSchema = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] };
    const document = { city: expect.any(String) };
    expect(await textOf({ responseMimeType, responseJsonSchema })).toEqual(document);
    expect(await textOf({ responseMimeType, responseSchema })).toEqual(document);
    expect(await textOf({ responseMimeType })).toEqual({ message: expect.stringContaining('Hello there') });
  });

  it('has thoughts where they are asked for, and charges them apart', async () => {
    const think = async (thinkingConfig: object): Promise<{ parts: object[]; thoughts: unknown }> => {
      const seen = await post('generateContent', asking('Hello', { generationConfig: { thinkingConfig } }));
      const { candidates, usageMetadata } = JSON.parse(seen.text) as {
        candidates: { content: { parts: object[] } }[];
        usageMetadata: Record<string, number>;
      };
      const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount } = usageMetadata;
      expect(usageMetadata['totalTokenCount']).toBe(
        promptTokenCount + candidatesTokenCount + (thoughtsTokenCount ?? 0),
      );
      return { parts: candidates[0]?.content.parts ?? [], thoughts: thoughtsTokenCount };
    };
    const thought = { text: 'The simulator thinks about what you said.', thought: true };
    expect(await think({ includeThoughts: true })).toEqual({
      ...{ parts: [thought, { text: expect.any(String) }], thoughts: 7 },
    });
    expect(await think({ thinkingBudget: 1_000 })).toEqual({
      ...{ parts: [{ text: expect.any(String) }], thoughts: 7 },
    });
    expect(await think({ thinkingBudget: 0, includeThoughts: true })).toEqual({
      ...{ parts: [{ text: expect.any(String) }], thoughts: undefined },
    });
    expect(simulator.requests.at(-1)?.usage).toMatchObject({
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    const fields = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
    const stream = await post('streamGenerateContent?alt=sse', asking('Hello', fields));
    const shown = eventsIn(stream.text).flatMap(
      (event) =>
        (event as { candidates: { content: { parts: object[] } }[] }).candidates[0]?.content.parts ?? [],
    );
    expect(shown.filter((part) => 'thought' in part)).toHaveLength(7);
    expect(simulator.requests.at(-1)?.usage).toMatchObject({
      completion_tokens_details: { reasoning_tokens: 7 },
    });
  });

  it('counts the tokens of contents and of a whole request without charge', async () => {
    const said = await post('generateContent', asking('Hello there'));
    const { usageMetadata } = JSON.parse(said.text) as { usageMetadata: { promptTokenCount: number } };
    const charged = simulator.ledger().totals.delivered;
    for (const body of [asking('Hello there'), { generateContentRequest: asking('Hello there') }])
      expect(JSON.parse((await post('countTokens', body)).text)).toEqual({
        totalTokens: usageMetadata.promptTokenCount,
      });
    expect((await post('countTokens', {})).status).toBe(400);
    expect(simulator.ledger().totals.delivered).toEqual(charged);
  });

  it('has vectors of a text and of several, as many numbers as were asked for', async () => {
    const text = { content: { parts: [{ text: 'Hello there' }] }, outputDimensionality: 3 };
    const one = JSON.parse((await post('embedContent', text)).text) as { embedding: object };
    const both = JSON.parse((await post('batchEmbedContents', { requests: [text, text] })).text) as object;
    expect(one).toEqual({
      embedding: { values: [expect.any(Number), expect.any(Number), expect.any(Number)] },
      usageMetadata: { promptTokenCount: 3 },
    });
    expect(both).toEqual({
      embeddings: [one.embedding, one.embedding],
      usageMetadata: { promptTokenCount: 6 },
    });
    const tooMany = await post('batchEmbedContents', { requests: Array.from({ length: 101 }, () => text) });
    expect(tooMany.status).toBe(400);
    expect((await post('embedContent', { content: {} })).status).toBe(400);
  });

  it('calls the tools that the last text names, with the text between its backticks', async () => {
    const schema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
    const functionDeclarations = ['read', 'run_command'].map((name) => ({
      ...{ name, parametersJsonSchema: schema },
    }));
    const parts = [{ text: 'A tool read `this`.' }, { text: 'use the tool run_command to run `ls`' }];
    const body = { contents: [{ role: 'user', parts }], tools: [{ functionDeclarations }] };
    const { candidates } = JSON.parse((await post('generateContent', body)).text) as {
      candidates: { content: { parts: { functionCall: object }[] } }[];
    };
    expect(candidates[0]?.content.parts.at(-1)?.functionCall).toEqual({
      ...{ name: 'run_command', args: { command: 'ls' } },
    });
  });

  it('calls tools with a signature, and refuses a turn without it', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }];
    const seen = await post('generateContent', asking('Use the tool.', { tools }));
    const [candidate] = (JSON.parse(seen.text) as { candidates: { content: { parts: object[] } }[] })
      .candidates;
    const [part] = candidate?.content.parts ?? [];
    expect(part).toEqual({
      functionCall: { name: 'weather', args: { city: expect.any(String) } },
      thoughtSignature: expect.any(String),
    });
    const result = {
      role: 'user',
      parts: [{ functionResponse: { name: 'weather', response: { output: 'sun' } } }],
    };
    const turn = (said: object): Promise<Seen> =>
      post('generateContent', {
        contents: [...contentsOf('Use the tool.'), { role: 'model', parts: [said] }, result],
        tools,
      });
    expect((await turn({ ...part })).text).toContain('The tools said: {');
    const { thoughtSignature: _signature, ...unsigned } = part as { thoughtSignature: string };
    const refused = await turn(unsigned);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('thought_signature')]);
  });

  it.each([
    [{}, {}, 400, 'INVALID_ARGUMENT'],
    [asking('hi'), { 'x-goog-api-key': 'sk-wrong' }, 401, 'UNAUTHENTICATED'],
    [asking('hi', { x_simulator: { status: 503 } }), {}, 503, 'UNAVAILABLE'],
  ])('%j with %j is refused in Google’s shape', async (body, headers, status, name) => {
    const seen = await post('generateContent', body, headers);
    expect(seen.status).toBe(status);
    expect(JSON.parse(seen.text)).toEqual({
      error: { code: status, message: expect.any(String), status: name },
    });
  });

  it('is cut as a fault says, and records keep no key', async () => {
    const body = asking('hi', { x_simulator: { chunks: 4, cut: 'mid_stream' } });
    const seen = await post('streamGenerateContent?alt=sse', body);
    expect([seen.complete, eventsIn(seen.text).length]).toEqual([false, 2]);
    expect(simulator.requests.at(-1)?.headers['x-goog-api-key']).toBe('matched');
  });
});

/** The responses of a stream. */
function eventsIn(text: string): unknown[] {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => json);
  return data.map((json) => JSON.parse(json) as unknown);
}

/** Responses but for their ids. */
function withoutIds(responses: unknown): unknown[] {
  return (responses as { responseId: string }[]).map(({ responseId: _id, ...others }) => others);
}

function contentsOf(text: string): object[] {
  return [{ role: 'user', parts: [{ text }] }];
}
