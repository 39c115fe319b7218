import type { Principal } from '@gatehouse/identity/principal';
import { newId } from '@gatehouse/kit/ids';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type {
  ChatCompletionMessageParam as Message,
  ChatCompletionAssistantMessageParam as Said,
} from 'openai/resources/chat/completions';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type Script } from './scripted-provider.ts';
import { message, messageEvents, type Fields } from './translated-answers.ts';
import { translatingHarness } from './translating-harness.ts';

/** Thoughts of models between two requests of a client of chat completions, which has no place for their signatures. */

let provider: ScriptedProvider;
let harness: ChatHarness;
let replica: string;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [
    { id: 'claude', provider: 'quick', upstream_model: 'claude-opus-5', reasoning: true },
    { id: 'gemini', provider: 'wrongkey', upstream_model: 'gemini-3-pro' },
    { id: 'gpt', provider: 'simulator', upstream_model: 'gpt-6', api: 'responses', reasoning: true },
    { id: 'plain', provider: 'simulator' },
  ]);
  replica = `http://127.0.0.1:${(await harness.startReplica()).httpPort}`;
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const sent = (): Fields[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as Fields);

const contentOf = (said: unknown): Fields[] => {
  const { content } = said as { content: unknown };
  return Array.isArray(content) ? (content as Fields[]) : [];
};

/** As Anthropic's API: refuses calls under way without the thought before them while thinking is on. */
const strict =
  (answer: Script): Script =>
  (received) => {
    const { thinking, messages } = JSON.parse(received.body.toString()) as {
      thinking?: { type: string };
      messages: Fields[];
    };
    const last = contentOf(messages.findLast(({ role }) => role === 'assistant') ?? {});
    const isThinking = thinking !== undefined && thinking.type !== 'disabled';
    const needsThought = last.some(({ type }) => type === 'tool_use') && isThinking;
    const bad = last.find(({ signature }) => typeof signature === 'string' && !signature.startsWith('sig-'));
    const error = needsThought && last[0]?.['type'] !== 'thinking' ? 'Expected `thinking`' : null;
    if (error === null && bad === undefined) return answer(received);
    const refusal = { type: 'invalid_request_error', message: error ?? 'Invalid `signature`' };
    return whole({ type: 'error', error: refusal }, 400)(received);
  };

/** Blocks of an answer with calls of these ids. */
const calling = (...ids: string[]): Fields[] => [
  { type: 'thinking', thinking: `I need ${ids.join(' and ')}.`, signature: `sig-${ids.join('-')}` },
  { type: 'text', text: 'I look.' },
  ...ids.map((id) => ({ type: 'tool_use', id, name: 'lookup', input: { of: id } })),
];
const done = [{ type: 'text', text: 'Done.' }];

type As = Partial<Principal>;
const tenantId = newId();
const ann: As = { tenantId, userId: 'ann' };

const client = (principal: As, url?: string): OpenAI =>
  new OpenAI({
    ...{ apiKey: 'unused', baseURL: 'http://unused/v1', maxRetries: 0 },
    fetch: (_url, init) => {
      if (typeof init?.body !== 'string') throw new Error('the SDK sends a text');
      return harness.post('/v1/chat/completions', init.body, {
        ...{ principal, ...(url !== undefined && { url }) },
      });
    },
  });

interface Asking {
  as?: As;
  url?: string;
  model?: string;
  streams?: boolean;
}

/** The message of the model, as the SDK has it. */
async function ask(
  messages: Message[],
  { as = ann, url, model = 'claude', streams = false }: Asking = {},
): Promise<Said> {
  const asked = {
    ...{ model, messages, reasoning_effort: 'medium' as const },
    tools: [{ type: 'function' as const, function: { name: 'lookup', parameters: { type: 'object' } } }],
  };
  const { completions } = client(as, url).chat;
  const answer = streams
    ? await completions.stream(asked).finalChatCompletion()
    : await completions.create(asked);
  const said = answer.choices[0]?.message;
  if (said === undefined) throw new Error('there is no message');
  expect(JSON.stringify(said)).not.toMatch(/sig-|gatehouse/);
  return {
    role: 'assistant',
    content: said.content,
    ...(said.tool_calls && { tool_calls: said.tool_calls }),
  };
}

const resultsOf = ({ tool_calls: calls = [] }: Said): Message[] =>
  calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` }));

const go: Message = { role: 'user', content: 'Go' };
const callIds = (count: number): string[] =>
  Array.from({ length: count }, () => `toolu_${newId().replaceAll('-', '')}`);

/** A conversation that waits for the results of its calls. */
async function begun(ids = callIds(1), asking: Asking = {}): Promise<Message[]> {
  provider.answer(strict(whole(message(calling(...ids), { stop_reason: 'tool_use' }))));
  const said = await ask([go], asking);
  return [go, said, ...resultsOf(said)];
}

/** The content of the model's message in the newest request, and whether the model thinks. */
async function goesOn(
  messages: Message[],
  asking: Asking = {},
): Promise<{ said: Fields[]; thinks: boolean }> {
  provider.answer(strict(whole(message(done))));
  expect(await ask(messages, asking)).toMatchObject({ content: 'Done.' });
  const [body] = sent();
  const said = (body?.['messages'] as Fields[]).findLast(({ role }) => role === 'assistant');
  return { said: contentOf(said), thinks: (body?.['thinking'] as Fields)['type'] !== 'disabled' };
}

/** The same without its thoughts. */
const forgotten = (ids: string[]) => ({ said: calling(...ids).slice(1), thinks: false });

describe("a client of chat completions with a model of Anthropic's that thinks", () => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('calls tools over three turns with every thought in its place, %s', async (_how, streams) => {
    const answered = (blocks: Fields[]): Script =>
      strict(
        streams
          ? streamed(messageEvents(blocks, 'tool_use'))
          : whole(message(blocks, { stop_reason: 'tool_use' })),
      );
    const turns = [callIds(2), callIds(1), callIds(3)];
    const messages: Message[] = [go];
    for (const [index, ids] of turns.entries()) {
      provider.answer(answered(calling(...ids)));
      const said = await ask(messages, { streams, ...(index === 1 && { url: replica }) });
      expect(said.tool_calls?.map(({ id }) => id)).toEqual(ids);
      messages.push(said, ...resultsOf(said));
    }
    const { said, thinks } = await goesOn(messages);
    expect([said, thinks]).toEqual([calling(...(turns[2] ?? [])), true]);
    const history = (sent()[0]?.['messages'] as Fields[]).filter(({ role }) => role === 'assistant');
    expect(history.map(contentOf)).toEqual(turns.map((ids) => calling(...ids)));
  });

  it('goes on without thinking as another tenant, user or model, or a day later', async () => {
    const ids = callIds(2);
    const messages = await begun(ids);
    expect(await goesOn(messages, { as: { tenantId: newId(), userId: 'ann' } })).toEqual(forgotten(ids));
    expect(await goesOn(messages, { as: { tenantId, userId: 'bob' } })).toEqual(forgotten(ids));
    expect(await goesOn(messages, { as: { tenantId, userId: null } })).toEqual(forgotten(ids));
    expect(await goesOn(messages)).toEqual({ said: calling(...ids), thinks: true });
    await harness.rows("update chat.thoughts set expires_at = now() - interval '1 second'");
    expect(await goesOn(messages)).toEqual(forgotten(ids));
  });

  it('goes on without the thoughts of two answers whose calls have one id', async () => {
    const ids = callIds(1);
    const messages = await begun(ids);
    await begun(ids);
    expect(await goesOn(messages)).toEqual(forgotten(ids));
  });

  it('goes on without thinking after a stream that was cut behind its calls', async () => {
    const [id = ''] = callIds(1);
    provider.answer(streamed(messageEvents(calling(id), 'tool_use').slice(0, -2)));
    await expect(ask([go], { streams: true })).rejects.toThrow();
    const call = { id, type: 'function' as const, function: { name: 'lookup', arguments: `{"of":"${id}"}` } };
    const said: Said = { role: 'assistant', content: 'I look.', tool_calls: [call] };
    expect(await goesOn([go, said, ...resultsOf(said)])).toEqual(forgotten([id]));
  });

  it('gives no other vendor its thoughts', async () => {
    const messages = await begun();
    for (const [model, answer] of [
      ['gemini', { candidates: [{ content: { parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }] }],
      ['gpt', { id: 'resp_1', status: 'completed', output: [] }],
      ['plain', { choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }] }],
    ] as const) {
      provider.answer(whole(answer));
      await ask(messages, { model });
      expect(provider.received[0]?.body.toString()).not.toMatch(/sig-|I need/);
    }
  });

  it('keeps thoughts encrypted, and forgets them with their user', async () => {
    const as = { tenantId: newId(), userId: 'eve' };
    const ids = callIds(1);
    const messages = await begun(ids, { as });
    const stored = () =>
      harness.rows('select content, bytes from chat.thoughts where tenant_id = $1', [as.tenantId]);
    const [row] = await stored();
    expect((row?.['content'] as Buffer).length).toBe(row?.['bytes']);
    expect((row?.['content'] as Buffer).toString('latin1')).not.toMatch(/sig-|I need/);
    const context = JSON.stringify(['thoughts', as.tenantId, as.userId, ids[0]]);
    const plain = KeyRing.parse(harness.identity.keyRing).open(row?.['content'] as Buffer, context);
    // Replicas of 0.3.0 read these names.
    expect(JSON.parse(plain.toString())).toMatchObject([
      { seal: { maker: expect.stringMatching(/^anthropic=/) } },
    ]);
    const participant = await harness.participant('tenant');
    const request = { ...as, deletionId: newId(), requestedAtMs: BigInt(Date.now()) };
    const { counts } = await participant.call('forgetUser', request, { deadlineMs: 5_000 });
    expect(counts).toMatchObject({ thoughts: 1n });
    expect(await stored()).toEqual([]);
    expect(await goesOn(messages, { as })).toEqual(forgotten(ids));
  });
});

describe('a client of chat completions with a model of another vendor that thinks', () => {
  it("sends Google's signature back with the call that it came with", async () => {
    const call = (of: string): Fields => ({ functionCall: { name: 'lookup', args: { of } } });
    const parts = [{ text: 'hm', thought: true }, { ...call('a'), thoughtSignature: 'sig-a' }, call('b')];
    provider.answer(whole({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }));
    const said = await ask([go], { model: 'gemini' });
    const final = { content: { role: 'model', parts: [{ text: 'Done.' }] }, finishReason: 'STOP' };
    const again = async (as: As): Promise<unknown> => {
      provider.answer(whole({ candidates: [final] }));
      await ask([go, said, ...resultsOf(said)], { as, model: 'gemini' });
      return (sent()[0]?.['contents'] as Fields[])[1]?.['parts'];
    };
    expect(await again(ann)).toEqual(parts.slice(1));
    expect(await again({ tenantId, userId: 'bob' })).toEqual([
      { ...call('a'), thoughtSignature: 'skip_thought_signature_validator' },
      call('b'),
    ]);
  });

  it("sends OpenAI's encrypted thoughts back", async () => {
    const [id = ''] = callIds(1);
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sig-enc' },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: id,
        name: 'lookup',
        arguments: '{}',
        status: 'completed',
      },
    ];
    provider.answer(whole({ id: 'resp_1', object: 'response', status: 'completed', output }));
    const said = await ask([go], { model: 'gpt' });
    const [row] = await harness.rows('select content from chat.thoughts where call_id = $1', [id]);
    const context = JSON.stringify(['thoughts', ann.tenantId, ann.userId, id]);
    const plain = KeyRing.parse(harness.identity.keyRing).open(row?.['content'] as Buffer, context);
    // Replicas of 0.3.0 send the text as it is.
    expect(JSON.parse(plain.toString())).toMatchObject([{ seal: { text: 'sig-enc', id: 'rs_1' } }]);
    provider.answer(whole({ id: 'resp_2', object: 'response', status: 'completed', output: [] }));
    await ask([go, said, ...resultsOf(said)], { model: 'gpt' });
    expect(sent()[0]?.['input']).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', id: 'rs_1', encrypted_content: 'sig-enc' },
      { type: 'function_call', call_id: id },
      { type: 'function_call_output', call_id: id },
    ]);
  });
});

describe('an agent that has tools of its own', () => {
  it("keeps thoughts before the client's call, also those before a call of its own in the same answer", async () => {
    harness.agents.set('owner', makeAgent({ key: 'owner', model: 'claude', tools: { maxIterations: 4 } }));
    harness.toolLists.tools = [
      {
        ...{ name: 'own', description: 'Own.', schemaJson: '{"type":"object"}', tool: 'own' },
        ...{ serverId: 's', timeoutMs: 1_000, executor: 'agent', repeatable: true },
      },
    ];
    const [own = '', first = '', second = ''] = callIds(3);
    const ownCall = (id: string): Fields => ({ type: 'tool_use', id, name: 'own', input: {} });
    const thought = { type: 'thinking', thinking: 'Both.', signature: 'sig-both' };
    const clientCall = { type: 'tool_use', id: first, name: 'lookup', input: { of: first } };
    const before = { type: 'thinking', thinking: 'Mine first.', signature: 'sig-own' };
    const stop = { stop_reason: 'tool_use' };
    provider.answer(
      strict(whole(message([before, ownCall(own)], stop))),
      strict(whole(message([thought, ownCall(second), clientCall], stop))),
    );
    const asking = { model: 'agent:owner' };
    const said = await ask([go], asking);
    expect(contentOf((sent()[1]?.['messages'] as Fields[])[1])).toEqual([before, ownCall(own)]);
    expect(said.tool_calls?.map(({ id }) => id)).toEqual([first]);
    const messages: Message[] = [go, said, ...resultsOf(said)];
    expect(await goesOn(messages, asking)).toEqual({ said: [thought, clientCall], thinks: true });
    // A model that gives a call of the history's id gets another one for it.
    provider.answer(strict(whole(message([before, ownCall(first)], stop))), strict(whole(message(done))));
    await ask(messages, asking);
    const [, again] = sent();
    const ids = JSON.stringify(again).match(/"id":"(?:toolu|call)_\w+"/g) ?? [];
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  });
});
