import type { Principal } from '@gatehouse/identity/principal';
import { makePrincipal } from '@gatehouse/test/identity';
import { expect } from '@jest/globals';
import type { ChatHarness } from './chat-harness.ts';
import { eventsOf, framesOf, messageItem } from './response-answers.ts';
import { ScriptedProvider, type ReceivedRequest, type Script } from './scripted-provider.ts';
import { chunks, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

export const text = 'portcullis portcullis';
export const messages = [{ role: 'user', content: 'x' }];
const requests: Readonly<Record<string, { path: string; body: Fields }>> = {
  chat: { path: '/v1/chat/completions', body: { model: 'gpt', messages, stream: true } },
  responses: { path: '/v1/responses', body: { model: 'gpt-responses', input: 'x', stream: true } },
  messages: { path: '/v1/messages', body: { model: 'claude', max_tokens: 900, messages, stream: true } },
  gemini: {
    path: '/v1beta/models/flash:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  },
};
export const dialects = Object.keys(requests);
const said = { content: { role: 'model', parts: [{ text }] }, index: 0 };
/** The frames of an answer of each API up to its text. */
export const begun: Readonly<Record<string, readonly string[]>> = {
  chat: chunks([{ role: 'assistant', content: text }]).slice(0, 1),
  responses: framesOf(eventsOf([messageItem(text)])).slice(0, -3),
  messages: messageEvents([{ type: 'text', text }]).slice(0, -3),
  gemini: [`data: ${JSON.stringify({ modelVersion: 'gemini-x', candidates: [said] })}\n\n`],
};

/** Sends these frames, and then nothing. */
export const silent =
  (frames: readonly string[] = begun['chat'] ?? []): Script =>
  ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames.join(''));
  };

export interface Sent {
  principal?: Partial<Principal>;
  session?: string;
  dialect?: string;
  fields?: Fields;
  url?: string;
}

/** Two replicas of chat before one provider: requests go to the second one, stops to the first. */
export class StopGround {
  readonly provider: ScriptedProvider;
  readonly harness: ChatHarness;
  /** The address of the second replica. */
  readonly second: string;
  /** The caller, an admin of a tenant of its own. */
  admin: Principal = makePrincipal();

  private constructor(provider: ScriptedProvider, harness: ChatHarness, port: number) {
    this.provider = provider;
    this.harness = harness;
    this.second = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<StopGround> {
    const provider = await ScriptedProvider.start();
    const price = { input_per_mtok: '1', output_per_mtok: '2' };
    const harness = await translatingHarness(provider, [
      { id: 'gpt', provider: 'simulator', price },
      { id: 'claude', provider: 'quick', price },
      { id: 'gpt-responses', provider: 'simulator', api: 'responses', price },
      { id: 'flash', provider: 'wrongkey', price },
    ]);
    const { httpPort } = await harness.startReplica();
    return new StopGround(provider, harness, httpPort);
  }

  async close(): Promise<void> {
    await this.harness.stop();
    this.provider.stop();
  }

  send({ principal = this.admin, session, dialect = 'chat', fields, url = this.second }: Sent = {}) {
    const { path, body } = requests[dialect] ?? { path: '', body: {} };
    const headers = {
      'x-gatehouse-dialect': dialect,
      ...(session !== undefined && { 'x-session-id': session }),
    };
    return this.harness.post(path, { ...body, ...fields }, { principal, headers, url });
  }

  /** A stream of which the client has the text. `rest` resolves with what follows. */
  async stream(sent: Sent = {}): Promise<{ runId: string; rest: Promise<string>; call: ReceivedRequest }> {
    const known = this.provider.received.length;
    const response = await this.send(sent);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let read = '';
    while (!read.includes('portcullis')) {
      const part = await reader?.read();
      if (part?.done !== false) throw new Error(`the stream has no text: ${response.status} ${read}`);
      read += part.value;
    }
    const rest = (async () => {
      let more = '';
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
        more += part.value;
      return more;
    })();
    const call = this.provider.received[known];
    if (call === undefined) throw new Error('the provider was not called');
    return { runId: response.headers.get('x-run-id') ?? '', rest, call };
  }

  /** The answer to a request of which no provider is called; throws if one is. Ends a request without an answer. */
  async refused(sent: Sent = {}): Promise<Response> {
    const admitted = Promise.withResolvers<never>();
    this.provider.answer(({ response }) => {
      response.destroy();
      admitted.reject(new Error('the request was admitted'));
    });
    return Promise.race([this.send(sent), admitted.promise]);
  }

  stop(body: Fields, principal: Partial<Principal> = this.admin, query = ''): Promise<Response> {
    return this.harness.post(`/v1/runs/stop${query}`, body, { principal });
  }

  async stopped(body: Fields, principal: Partial<Principal> = this.admin): Promise<void> {
    const response = await this.stop(body, principal);
    expect([response.status, await response.json()]).toEqual([202, { hold_until: expect.any(String) }]);
  }
}

export const isOpen = ({ response }: ReceivedRequest): boolean => !response.destroyed;
