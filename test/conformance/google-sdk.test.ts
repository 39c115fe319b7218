import { ApiError, GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { CompletionServer } from '../../services/chat/test/completion-server.ts';
import {
  ScriptedProvider,
  streamed,
  whole,
  type Script,
} from '../../services/chat/test/scripted-provider.ts';

/** Google's SDK against the completions of chat, with a provider that answers as Google's API does. */

let provider: ScriptedProvider;
let server: CompletionServer;
let ai: GoogleGenAI;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const google = { name: 'google', kind: 'google', base_url: provider.url, max_retries: 0 };
  server = await CompletionServer.start(
    { providers: [google], models: [{ id: 'gemini', provider: 'google' }] },
    'gemini',
  );
  const httpOptions = { baseUrl: server.url, retryOptions: { attempts: 1 } };
  ai = new GoogleGenAI({ apiKey: 'key', httpOptions });
});
afterAll(async () => {
  await server.stop();
  provider.stop();
});

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };
const answerOf = (parts: object[], finishReason?: string): object => ({
  candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }],
  ...{ usageMetadata, modelVersion: 'gemini-x-1' },
});
const frame = (response: object): string => `data: ${JSON.stringify(response)}\r\n\r\n`;
const asking = { model: 'gemini', contents: 'hi' };

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => new Error('the call succeeded'),
    (error: unknown) => error,
  );

async function textsOf(stream: Promise<AsyncGenerator<{ text: string | undefined }>>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { text } of await stream) if (text !== undefined) texts.push(text);
  return texts;
}

describe('Google’s SDK', () => {
  it('gets an answer with its usage, from the path that it asks by default', async () => {
    provider.answer(whole(answerOf([{ text: 'Hello.' }], 'STOP')));
    const response = await ai.models.generateContent(asking);
    expect([response.text, response.modelVersion]).toEqual(['Hello.', 'gemini-x-1']);
    expect(response.usageMetadata).toMatchObject(usageMetadata);
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini:generateContent');
  });

  it('reads a stream to its end, through signs of life', async () => {
    const slow: Script = async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame(answerOf([{ text: 'Hel' }])));
      // Longer than the silence after which the client gets a sign of life.
      await sleep(350);
      response.write(frame(answerOf([{ text: 'lo' }])));
      response.end(frame(answerOf([{ text: '.' }], 'STOP')));
    };
    provider.answer(slow);
    expect(await textsOf(ai.models.generateContentStream(asking))).toEqual(['Hel', 'lo', '.']);
  });

  it('keeps a turn with signs of life in the history of its chat, and sends it back without them', async () => {
    provider.answer(async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame(answerOf([{ text: 'Hel' }])));
      await sleep(350);
      response.end(frame(answerOf([{ text: 'lo.' }], 'STOP')));
    });
    const chat = ai.chats.create({ model: 'gemini' });
    const parts: unknown[] = [];
    for await (const chunk of await chat.sendMessageStream({ message: 'hi' }))
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    expect(parts).toContainEqual({ text: '', thought: true });
    provider.answer(whole(answerOf([{ text: 'Fine.' }], 'STOP')));
    await chat.sendMessage({ message: 'again' });
    const { contents } = JSON.parse(String(provider.received.at(-1)?.body)) as { contents: unknown };
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: [{ text: 'Hel' }] },
      { role: 'model', parts: [{ text: 'lo.' }] },
      { role: 'user', parts: [{ text: 'again' }] },
    ]);
  });

  it('calls a tool, and sends the call back with its signature', async () => {
    const call = {
      functionCall: { id: 'c1', name: 'weather', args: { city: 'Hue' } },
      thoughtSignature: 'c2ln',
    };
    provider.answer(
      streamed([frame(answerOf([call], 'STOP'))]),
      streamed([frame(answerOf([{ text: 'Sunny.' }], 'STOP'))]),
    );
    const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: { type: 'object' } }] }];
    const chat = ai.chats.create({ model: 'gemini', config: { tools } });
    const calls: unknown[] = [];
    for await (const chunk of await chat.sendMessageStream({ message: 'How is it?' }))
      calls.push(...(chunk.functionCalls ?? []));
    expect(calls).toEqual([call.functionCall]);
    const result = { functionResponse: { id: 'c1', name: 'weather', response: { output: 'sunny' } } };
    expect(await textsOf(chat.sendMessageStream({ message: [result] }))).toEqual(['Sunny.']);
    const body = JSON.parse(String(provider.received[1]?.body)) as { contents: unknown[]; tools: unknown };
    expect(body.contents[1]).toEqual({ role: 'model', parts: [call] });
    expect(body.tools).toEqual(tools);
  });

  it('gets embeddings of several texts', async () => {
    provider.answer(whole({ embeddings: [{ values: [0.5, 1] }, { values: [2, 3] }] }));
    const config = { outputDimensionality: 2 };
    const response = await ai.models.embedContent({ model: 'gemini', contents: ['a', 'b'], config });
    expect(response.embeddings?.map(({ values }) => values)).toEqual([
      [0.5, 1],
      [2, 3],
    ]);
    expect(provider.received[0]?.path).toBe('/v1beta/models/gemini:batchEmbedContents');
  });

  it('gets a blocked prompt as an answer', async () => {
    provider.answer(whole({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata }));
    const response = await ai.models.generateContent(asking);
    expect([response.text, response.promptFeedback?.blockReason]).toEqual([undefined, 'SAFETY']);
  });

  it('raises errors with their status, in a stream too', async () => {
    provider.answer(whole({ error: { code: 400, message: 'Not this.', status: 'INVALID_ARGUMENT' } }, 400));
    const refused = await errorOf(ai.models.generateContent(asking));
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('Not this.') });
    const missing = await errorOf(ai.models.generateContent({ ...asking, model: 'none' }));
    expect(missing).toMatchObject({ status: 404 });
    provider.answer(streamed([frame(answerOf([{ text: 'Hel' }]))], { cut: true }));
    const cut = await errorOf(textsOf(ai.models.generateContentStream(asking)));
    expect(cut).toMatchObject({ status: 502, message: expect.stringContaining('UNAVAILABLE') });
  });
});
