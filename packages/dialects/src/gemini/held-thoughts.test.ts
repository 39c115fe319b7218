import { describe, expect, it } from '@jest/globals';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import type { Fields } from '@gatehouse/kit/fields';
import { facts } from '@gatehouse/test/translation-samples';
import { translator, writtenIn } from '../../test/translating.ts';
import type { ModelFacts } from '../translation/api.ts';
import { translationBetween } from '../translation/translation.ts';
import { responseIn } from './stream.ts';

/** Reasoning of other vendors' models for clients of Google's API, and on its way back. */

type Upstream = 'messages' | 'responses' | 'chat';

interface Model {
  api: Upstream;
  facts: Partial<ModelFacts>;
}

const claude: Model = { api: 'messages', facts: { name: 'claude-sonnet-4-5' } };

const partsOf = (response: Fields | null): Fields[] =>
  ((response?.['candidates'] ?? []) as { content: { parts: Fields[] } }[]).flatMap(
    ({ content }) => content.parts,
  );

async function whole({ api, facts: known }: Model, answer: Fields): Promise<Fields[]> {
  const read = await translationBetween('gemini', api, { ...facts, ...known }).whole(
    Buffer.from(JSON.stringify(answer)),
    null,
  );
  return partsOf(JSON.parse(writtenIn(read).toString()) as Fields);
}

function streamed({ api, facts: known }: Model, events: readonly Fields[]): Fields[] {
  const stream = translationBetween('gemini', api, { ...facts, ...known }).stream();
  const frames = events.map((event) =>
    Buffer.from(
      `${'type' in event ? `event: ${String(event['type'])}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
    ),
  );
  const written = [...frames.flatMap((frame) => stream.frames(frame)), ...stream.end()];
  return written.flatMap((frame) => partsOf(responseIn(frame)));
}

const thinking = (text: string, signature = `sig-${text}`): Fields => ({
  ...{ type: 'thinking', thinking: text, signature },
});
const redacted = { type: 'redacted_thinking', data: 'ZGF0YQ' };
const text = (said: string): Fields => ({ type: 'text', text: said });
const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'f', input: { of: id } });

const answerOf = (content: readonly Fields[]): Fields => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content },
  ...{ stop_reason: 'tool_use', usage: { input_tokens: 1, output_tokens: 1 } },
});

/** Two pieces for each text. */
function eventsOf(blocks: readonly Fields[]): Fields[] {
  const deltas = ({ type, thinking: thought, signature, text: said, input }: Fields): Fields[] => {
    const halves = (value: unknown, make: (piece: string) => Fields): Fields[] => {
      const all = String(value);
      const middle = Math.ceil(all.length / 2);
      return [all.slice(0, middle), all.slice(middle)].filter((piece) => piece !== '').map(make);
    };
    if (type === 'text') return halves(said, (piece) => ({ type: 'text_delta', text: piece }));
    if (type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }];
    if (type !== 'thinking') return [];
    return [
      ...halves(thought, (piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature },
    ];
  };
  const empty = { text: { text: '' }, tool_use: { input: {} }, thinking: { thinking: '', signature: '' } };
  return [
    { type: 'message_start', message: { ...answerOf([]), stop_reason: null } },
    ...blocks.flatMap((block, index) => [
      {
        ...{ type: 'content_block_start', index },
        content_block: { ...block, ...empty[block['type'] as keyof typeof empty] },
      },
      ...deltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
}

const user = { role: 'user', parts: [{ text: 'Go' }] };
const keepAlive = { text: '', thought: true };
const isThought = ({ thought }: Fields): boolean => thought === true;

/** As Gemini CLI: thoughts go, texts become one, and ids get the name of their call. */
function asGeminiCli(parts: readonly Fields[]): Fields[] {
  const joined: Fields[] = [];
  for (const part of parts.filter((each) => !isThought(each))) {
    const last = joined.at(-1);
    const called = part['functionCall'] as Fields | undefined;
    if (called !== undefined) {
      const { id, name } = called;
      joined.push({ ...part, functionCall: { ...called, id: `${String(name)}__${String(id)}` } });
    } else if (typeof last?.['text'] === 'string') last['text'] = `${last['text']}${String(part['text'])}`;
    else joined.push({ ...part });
  }
  return joined;
}

const snake = ({ thoughtSignature, functionCall, ...part }: Fields): Fields => ({
  ...part,
  ...(functionCall !== undefined && { function_call: functionCall }),
  ...(typeof thoughtSignature === 'string' && {
    thought_signature: thoughtSignature.replaceAll('+', '-').replaceAll('/', '_'),
  }),
});

type Client = (parts: readonly Fields[]) => Fields[];
const model = (parts: readonly Fields[]): Fields => ({ role: 'model', parts });

/** Clients, by how they keep an answer. */
const clients: Readonly<Record<string, Client>> = {
  'as it came': (parts) => [model(parts)],
  'each piece as a content, as Google’s SDKs': (parts) => parts.map((part) => model([part])),
  'without thoughts': (parts) => [model(parts.filter((part) => !isThought(part)))],
  'as Gemini CLI': (parts) => [model(asGeminiCli(parts))],
  'in the other spelling, as Google’s SDK for Python': (parts) => parts.map((part) => model([snake(part)])),
  'with keep-alives between': (parts) => [model(parts.flatMap((part) => [keepAlive, part]))],
};

function resultsFor(contents: readonly Fields[]): Fields[] {
  const parts = contents.flatMap(({ parts: all }) => all as Fields[]);
  const calls = parts.flatMap(
    (part) => [part['functionCall'] ?? part['function_call'] ?? []].flat() as Fields[],
  );
  const results = calls.map(({ id, name }) => ({
    functionResponse: { id, name, response: { output: 'x' } },
  }));
  return [results.length === 0 ? user : { role: 'user', parts: results }];
}

/** The provider's view of the answer in the next request. */
async function sentBack({ api, facts: known }: Model, contents: readonly Fields[]): Promise<Fields> {
  const request = {
    contents: [user, ...contents, ...resultsFor(contents)],
    generationConfig: { thinkingConfig: { thinkingBudget: 2_048 } },
  };
  return (await translator('gemini', api)(request, known)).body;
}

const contentIn = (body: Fields): Fields[] =>
  (body['messages'] as { role: string; content: Fields[] }[]).flatMap(({ role, content }) =>
    role === 'assistant' ? content : [],
  );

/** Blocks without ids, with texts that follow each other as one. */
function shown(blocks: readonly Fields[]): Fields[] {
  const joined: Fields[] = [];
  for (const { id: _id, ...block } of blocks) {
    const last = joined.at(-1);
    if (block['type'] !== 'text' || last?.['type'] !== 'text') joined.push(block);
    else last['text'] = `${String(last['text'])}${String(block['text'])}`;
  }
  return joined;
}

const answers: Readonly<Record<string, Fields[]>> = {
  'a thought before two calls': [thinking('I need “both”\n'), call('a'), call('b')],
  'a thought before a text': [thinking('Hm'), text('It is green.')],
  'thoughts between texts and calls': [
    ...[thinking('One'), text('I look.'), thinking('Two'), call('a'), thinking('Three'), call('b')],
  ],
  'several thoughts before a call': [redacted, thinking('Then'), redacted, thinking('so'), call('a')],
  'a thought without its text': [thinking('', 'sig'), call('a')],
};

describe.each(Object.entries(clients))(
  'reasoning of Claude for a client that keeps answers %s',
  (_how, client) => {
    describe.each(Object.entries(answers))('%s', (_what, blocks) => {
      it.each([
        ['whole', async () => whole(claude, answerOf(blocks))],
        ['streamed', async () => Promise.resolve(streamed(claude, eventsOf(blocks)))],
      ])('goes back to Claude, %s', async (_mode, answered) => {
        const parts = await answered();
        expect(parts.filter(({ text: said, thought }) => said === '' && thought !== true)).toEqual([]);
        expect(parts.filter((part) => isThought(part) && 'thoughtSignature' in part)).toEqual([]);
        const body = await sentBack(claude, client(parts));
        expect(shown(contentIn(body))).toEqual(shown(blocks));
        expect(body['thinking']).toMatchObject({ type: 'enabled' });
      });
    });
  },
);

describe('reasoning for a client of Google’s API', () => {
  it('stands at the part behind it, with the thoughts of a stream in pieces', () => {
    const parts = streamed(claude, eventsOf([thinking('Hm'), text('Yes.'), call('a')]));
    const signed = { thoughtSignature: expect.any(String) as unknown };
    expect(parts).toEqual([
      ...[
        { text: 'H', thought: true },
        { text: 'm', thought: true },
      ],
      ...[{ text: 'Ye', ...signed }, { text: 's.' }],
      { functionCall: { id: 'a', name: 'f', args: { of: 'a' } } },
      keepAlive,
    ]);
  });

  it('without a part behind it stands in the last one', async () => {
    const end = { ...keepAlive, thoughtSignature: expect.any(String) as unknown };
    const blocks = [text('Yes.'), thinking('Hm')];
    for (const parts of [await whole(claude, answerOf(blocks)), streamed(claude, eventsOf(blocks))]) {
      expect(parts.at(-1)).toEqual(end);
      // Messages of Claude don't end with a thought.
      expect(shown(contentIn(await sentBack(claude, [model(parts)])))).toEqual(shown(blocks.slice(0, 1)));
    }
  });

  it('goes to the next call where the one behind it was cut', () => {
    const events = eventsOf([thinking('Hm'), call('a')]).slice(0, -4);
    const cut = { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 5 } };
    const parts = streamed(claude, [
      ...events,
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"of' } },
      { type: 'content_block_stop', index: 1 },
      ...[cut, { type: 'message_stop' }],
    ]);
    expect(parts.map((part) => 'functionCall' in part)).not.toContain(true);
    expect(parts.at(-1)).toHaveProperty('thoughtSignature');
  });

  it('that is longer than a part may have goes on without its signature', async () => {
    const long = 'x'.repeat(600_000);
    const blocks = [thinking('Hm'), call('a'), thinking(long), call('b'), thinking('Hm'), call('c')];
    for (const parts of [await whole(claude, answerOf(blocks)), streamed(claude, eventsOf(blocks))]) {
      const signed = parts.map((part) => 'thoughtSignature' in part);
      expect(signed.filter(Boolean)).toHaveLength(1);
      expect(parts[signed.indexOf(true)]).toMatchObject({ functionCall: { id: 'a' } });
    }
    expect(
      (await whole(claude, answerOf([thinking('\u0001'.repeat(500_000)), call('a')]))).at(-1),
    ).not.toHaveProperty('thoughtSignature');
  });

  it('reaches no other vendor, and no other tenant', async () => {
    const parts = asGeminiCli(await whole(claude, answerOf([thinking('Secret'), call('a')])));
    for (const api of ['responses', 'chat'] as const) {
      const body = JSON.stringify(await sentBack({ api, facts: { name: 'gpt-5.4' } }, [model(parts)]));
      expect(body).not.toMatch(/Secret|sig-|gatehouse|Z2F0ZWhvdXNl/);
    }
    const macs = KeyRing.parse(newKeyRing('k.2')).hasher('b');
    const other = { ...claude, facts: { ...claude.facts, macs: KeyRing.parse(newKeyRing('k')).hasher('b') } };
    await expect(sentBack(other, [model(parts)])).rejects.toMatchObject({
      code: 'invalid_encrypted_content',
    });
    // Its key has left the ring: the turn goes on without.
    const body = await sentBack({ ...claude, facts: { ...claude.facts, macs } }, [model(parts)]);
    expect(contentIn(body)).toEqual([{ ...call('a'), id: 'f__a' }]);
    expect(body['thinking']).toEqual({ type: 'disabled' });
  });

  it('of OpenAI goes back by items, with their summaries', async () => {
    const gpt: Model = { api: 'responses', facts: { name: 'gpt-5.4' } };
    const item = (id: string, said: string): Fields => ({
      ...{ type: 'reasoning', id, encrypted_content: `enc-${id}` },
      summary: said === '' ? [] : [{ type: 'summary_text', text: said }],
    });
    const called = { type: 'function_call', call_id: 'call_a', name: 'f', arguments: '{}' };
    const response = {
      ...{ id: 'resp_1', status: 'completed' },
      output: [item('rs_1', ''), item('rs_2', 'Both'), called],
    };
    for (const parts of [
      await whole(gpt, response),
      streamed(gpt, [{ type: 'response.completed', response }]),
    ]) {
      const { input } = await sentBack(gpt, [model(asGeminiCli(parts))]);
      expect((input as Fields[]).filter(({ type }) => type === 'reasoning')).toMatchObject([
        { summary: [], encrypted_content: 'enc-rs_1' },
        { summary: [{ text: 'Both' }], encrypted_content: 'enc-rs_2' },
      ]);
    }
  });

  it('of a server of chat completions goes back as its text', async () => {
    const kimi: Model = { api: 'chat', facts: { name: 'kimi-k2.5' } };
    const calls = [{ id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const message = { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: calls };
    const answer = { id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
    const { messages } = await sentBack(kimi, [model(asGeminiCli(await whole(kimi, answer)))]);
    expect((messages as Fields[])[1]).toMatchObject({ role: 'assistant', reasoning_content: 'Hm' });
  });
});
