import { newId } from '@gatehouse/kit/ids';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Reasoning of Claude between the requests of Gemini CLI, which sends no thought back and changes the ids of calls. */

let provider: ScriptedProvider;
let harness: ChatHarness;
let replica: string;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'claude', provider: 'quick', upstream_model: 'claude-sonnet-4-5', reasoning: true },
    { id: 'gemini', provider: 'wrongkey', upstream_model: 'gemini-3-pro' },
  ]);
  replica = `http://127.0.0.1:${(await harness.startReplica()).httpPort}`;
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

interface Sent {
  thinking?: Fields;
  messages: { role: string; content: Fields[] }[];
}

/** As Anthropic's API: refuses calls whose results come without the thought before them while thinking is on. */
const strict =
  (answer: Script): Script =>
  (received) => {
    const { thinking, messages } = JSON.parse(received.body.toString()) as Sent;
    const last = messages.findLast(({ role }) => role === 'assistant')?.content ?? [];
    const isOpen = last.some(({ type }) => type === 'tool_use');
    const isRefused = thinking?.['type'] === 'enabled' && isOpen && last[0]?.['type'] !== 'thinking';
    const error = { type: 'invalid_request_error', message: 'Expected `thinking`' };
    return (isRefused ? whole({ type: 'error', error }, 400) : answer)(received);
  };

const answering = (blocks: Fields[], streams: boolean): Script => {
  const reason = blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
  return strict(
    streams ? streamed(messageEvents(blocks, reason)) : whole(message(blocks, { stop_reason: reason })),
  );
};

const thinking = (of: string): Fields => ({
  type: 'thinking',
  thinking: `On ${of}.`,
  signature: `sig-${of}`,
});
const call = (id: string, name = 'look'): Fields => ({ type: 'tool_use', id, name, input: { of: id } });
const said = (text: string): Fields => ({ type: 'text', text });

interface Asking {
  model?: string;
  streams: boolean;
  url?: string;
  tenantId: string;
}

async function ask(contents: Fields[], { model = 'claude', streams, url, tenantId }: Asking) {
  const method = streams ? 'streamGenerateContent?alt=sse' : 'generateContent';
  const body = {
    contents,
    generationConfig: {
      maxOutputTokens: 9_000,
      thinkingConfig: { thinkingBudget: 2_048, includeThoughts: true },
    },
    tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object' } }] }],
  };
  const response = await harness.post(`/v1beta/models/${model}:${method}`, body, {
    headers: { 'x-gatehouse-dialect': 'gemini' },
    ...{ principal: { tenantId, userId: 'ann' }, ...(url !== undefined && { url }) },
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  const lines = streams ? text.split('\n').filter((line) => line.startsWith('data:')) : [`data:${text}`];
  return lines
    .map((line) => JSON.parse(line.slice('data:'.length)) as { candidates?: Fields[] })
    .flatMap(({ candidates = [] }) => candidates.map(({ content }) => content as { parts: Fields[] }))
    .flatMap(({ parts }) => parts);
}

/** The model's content as Gemini CLI stores it, and the results of its calls. */
function stored(parts: readonly Fields[]): Fields[] {
  const spoken = parts
    .filter(({ thought }) => thought !== true)
    .map(({ functionCall, ...part }) => {
      const { id, name, ...called } = (functionCall ?? {}) as { id?: string; name?: string };
      return id === undefined
        ? part
        : { ...part, functionCall: { ...called, name, id: `${name ?? ''}__${id}` } };
    });
  const results = spoken.flatMap((part) => {
    const { id, name } = (part['functionCall'] ?? {}) as { id?: string; name?: string };
    return id === undefined ? [] : [{ functionResponse: { id, name, response: { output: 'green' } } }];
  });
  const next = results.length > 0 ? results : [{ text: 'And now?' }];
  return [
    { role: 'model', parts: spoken },
    { role: 'user', parts: next },
  ];
}

const newest = (): Sent => JSON.parse(provider.received.at(-1)?.body.toString() ?? '{}') as Sent;
const go: Fields = { role: 'user', parts: [{ text: 'Go' }] };

describe('a client of Gemini’s API that sends no thought back', () => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('calls tools of Claude in three steps, each with its reasoning, %s', async (_mode, streams) => {
    const asking = { streams, tenantId: newId() };
    const steps = [
      [thinking('one'), said('I look.'), call('toolu_1'), call('toolu_2')],
      [thinking('two'), call('toolu_3')],
      [thinking('three'), said('Both are green.')],
    ];
    let contents = [go];
    const answers: Fields[][] = [];
    for (const [index, blocks] of steps.entries()) {
      provider.answer(answering(blocks, streams));
      // Another replica answers every other request.
      const parts = await ask(contents, { ...asking, ...(index === 1 && { url: replica }) });
      const sent = newest();
      expect(sent.thinking).toMatchObject({ type: 'enabled' });
      const back = sent.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
      expect(back.map((content) => content.map(({ id: _id, ...block }) => block))).toMatchObject(
        answers.map((content) => content.map(({ id: _id, ...block }) => block)),
      );
      answers.push(blocks);
      contents = [...contents, ...stored(parts)];
    }
  });

  it('goes on with Gemini, which gets no reasoning of Claude', async () => {
    const asking = { streams: false, tenantId: newId() };
    provider.answer(answering([thinking('one'), call('toolu_1')], false));
    const contents = [go, ...stored(await ask([go], asking))];
    provider.answer(
      whole({ candidates: [{ content: { parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }] }),
    );
    await ask(contents, { ...asking, model: 'gemini' });
    const sent = provider.received[0]?.body.toString() ?? '';
    expect(sent).toContain('"thoughtSignature":"skip_thought_signature_validator"');
    expect(sent).not.toMatch(/On one|sig-one|gatehouse|Z2F0ZWhvdXNl/);
  });

  it.each([
    ['whole', false],
    ['streamed', true],
  ])(
    'and asks an agent sees its own calls signed, behind those of the gateway, %s',
    async (_mode, streams) => {
      const own = {
        ...{ name: 'lookup', description: 'Looks up.', schemaJson: '{"type":"object"}', tool: 'lookup' },
        ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
      };
      harness.agents.set(
        'worker',
        makeAgent({ key: 'worker', model: 'claude', systemPrompt: 'Work.', tools: { maxIterations: 4 } }),
      );
      harness.toolLists.tools = [own];
      const asking = { streams, tenantId: newId(), model: 'agent:worker' };
      const last = [thinking('two'), call('toolu_2', 'lookup'), call('toolu_3')];
      provider.answer(
        answering([thinking('one'), call('toolu_1', 'lookup')], streams),
        answering(last, streams),
      );
      const parts = await ask([go], asking);
      const second = JSON.parse(provider.received[1]?.body.toString() ?? '{}') as Sent;
      expect(second.messages[1]?.content).toMatchObject([thinking('one'), { name: 'lookup' }]);
      expect(second.thinking).toMatchObject({ type: 'enabled' });
      provider.answer(answering([said('Green.')], streams));
      await ask([go, ...stored(parts)], asking);
      const sent = newest();
      expect(sent.messages[1]?.content).toMatchObject([thinking('two'), { name: 'look' }]);
      expect(sent.thinking).toMatchObject({ type: 'enabled' });
    },
  );
});
