import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import type { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** The tokens reserved for a conversation with a beginning counted by its provider. */

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'claude', provider: 'quick' },
    { id: 'chat', provider: 'simulator' },
  ]);
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const paragraph = 'The portcullis is lowered at dusk, and raised by the guard at dawn. ';
const text = (repeats: number): string => paragraph.repeat(repeats);
const outputTokens = 10;

/** A conversation of a tenant of its own. Each message is much longer than all before it, so each needs a new lease. */
class Conversation {
  readonly #tenantId = newId();
  readonly #path: string;
  readonly #dialect: string;
  readonly #messages: Fields[] = [];

  constructor(path: string, dialect: string) {
    this.#path = path;
    this.#dialect = dialect;
    harness.settings.set(this.#tenantId, { limited: [Resource.TOKENS] });
  }

  /** Returns the input tokens reserved for the request, and those of a token for each of its bytes. */
  async ask(
    repeats: number,
    script: Script,
    fields: Fields = {},
  ): Promise<{ reserved: number; bytes: number }> {
    this.#messages.push({ role: 'user', content: text(repeats) });
    const model = this.#dialect === 'messages' ? 'claude' : 'chat';
    const body = { model, max_tokens: outputTokens, messages: this.#messages, ...fields };
    const { length: bytes } = JSON.stringify(body);
    provider.answer(script);
    harness.asks.length = 0;
    const response = await harness.post(this.#path, body, {
      principal: { tenantId: this.#tenantId },
      headers: { 'x-gatehouse-dialect': this.#dialect },
    });
    await response.text().catch(() => undefined);
    this.#messages.push({ role: 'assistant', content: 'Done.' });
    const [ask] = harness.asks.filter(({ resource }) => resource === Resource.TOKENS);
    return { reserved: Number(ask?.needs[0] ?? 0n) - outputTokens, bytes };
  }
}

const counted = (tokens: number): Fields => ({
  input_tokens: 3,
  cache_read_input_tokens: tokens - 3,
  cache_creation_input_tokens: 0,
  output_tokens: 5,
});
const answer = [{ type: 'text', text: 'Done.' }];
const claude = (tokens: number): Script => whole({ ...message(answer), usage: counted(tokens) });
const claudeStream = (tokens: number): Script =>
  streamed(
    messageEvents(answer).map((frame) =>
      frame.replace(/"input_tokens":6,"cache_read_input_tokens":4/, `"input_tokens":${tokens}`),
    ),
  );
const openAi = (tokens: number): Script =>
  whole({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-x' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 },
  });

describe('a conversation', () => {
  it.each([
    ['of Anthropic’s API', { path: '/v1/messages', dialect: 'messages', script: claude, fields: {} }],
    [
      'of Anthropic’s API as a stream',
      { path: '/v1/messages', dialect: 'messages', script: claudeStream, fields: { stream: true } },
    ],
    ['of chat completions', { path: '/v1/chat/completions', dialect: 'chat', script: openAi, fields: {} }],
  ])('%s reserves its last count, and the bytes behind it', async (_name, asked) => {
    const { path, dialect, script, fields } = asked;
    const conversation = new Conversation(path, dialect);
    const first = await conversation.ask(50, script(900), fields);
    expect(first.reserved).toBeGreaterThanOrEqual(first.bytes);
    const second = await conversation.ask(500, script(9_000), fields);
    expect(second.reserved).toBeGreaterThan(900 + text(500).length);
    expect(second.reserved).toBeLessThan(900 + text(500).length + 200);
    const third = await conversation.ask(2_000, script(40_000), fields);
    expect(third.reserved).toBeLessThan(9_000 + text(2_000).length + 200);
  });

  it('reserves a token for each byte after a failed call, and after one without usage', async () => {
    for (const script of [
      whole({ error: { message: 'no' } }, 400),
      whole({ ...message(answer), usage: {} }),
    ]) {
      const conversation = new Conversation('/v1/messages', 'messages');
      await conversation.ask(50, script);
      const second = await conversation.ask(500, claude(9_000));
      expect(second.reserved).toBeGreaterThanOrEqual(second.bytes);
    }
  });
});
