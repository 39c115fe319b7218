import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { translator } from '../../test/translating.ts';
import { withAutomaticPoints } from './automatic-points.ts';
import { noSampling, type Conversation, type Part, type Turn } from './conversation.ts';

const auto = { name: 'claude-opus-5', cache: 'auto' } as const;
const cached = { cache_control: { type: 'ephemeral' } };
const call = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];
const system = { role: 'system', content: 'Be kind.' };

/** Texts and types of marked blocks of a request to Anthropic, in order. */
function marks(body: Record<string, unknown>): unknown[] {
  const blocks: object[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('cache_control' in value) blocks.push(value);
    Object.values(value).forEach(walk);
  };
  [body['tools'], body['system'], body['messages']].forEach(walk);
  return blocks.map((block) => ('text' in block ? block.text : 'name' in block ? block.name : 'result'));
}

async function marked(messages: object[], more: object = {}, model: object = auto): Promise<unknown[]> {
  return marks((await translator('chat', 'messages')({ messages, ...more }, model)).body);
}

describe('a request without marks', () => {
  const talk = [
    system,
    { role: 'user', content: 'q1' },
    { role: 'assistant', content: 'a1' },
    { role: 'user', content: 'q2' },
  ];

  it('is cached behind its tools and its system text, without the only question', async () => {
    expect(await marked([system, { role: 'user', content: 'q1' }], { tools })).toEqual(['f', 'Be kind.']);
  });

  it('is cached up to the answer before the newest question, and where the request before was', async () => {
    expect(await marked(talk)).toEqual(['Be kind.', 'a1']);
    const longer = [...talk, { role: 'assistant', content: 'a2' }, { role: 'user', content: 'q3' }];
    expect(await marked(longer, { tools })).toEqual(['f', 'Be kind.', 'a1', 'a2']);
  });

  it('is cached up to its end while the model calls tools', async () => {
    const step = [
      ...talk,
      { role: 'assistant', content: null, tool_calls: [call('call_1')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'r1' },
    ];
    expect(await marked(step)).toEqual(['Be kind.', 'a1', 'result']);
    const next = [
      ...step,
      { role: 'assistant', content: null, tool_calls: [call('call_2'), call('call_3')] },
    ];
    const results = ['call_2', 'call_3'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'r' }));
    expect(await marked([...next, ...results])).toEqual(['Be kind.', 'result', 'result']);
  });

  it('is as it was for a model with `cache: off`, another model, and a count', async () => {
    expect(await marked(talk, {}, { ...auto, cache: 'off' })).toEqual([]);
    expect(await marked(talk, {}, { cache: 'auto', name: 'glm-5' })).toEqual([]);
    expect(await marked(talk, {}, { cache: 'auto', name: 'claude-3-haiku-20240307' })).toEqual([]);
  });

  it('is cached by Claude and Nova in Converse, the tools of Nova without a place', async () => {
    const nova = { cache: 'auto', name: 'us.amazon.nova-pro-v1:0' } as const;
    const { body } = await translator('responses', 'converse')(
      {
        instructions: 'Be kind.',
        tools: [{ type: 'function', name: 'f', parameters: {} }],
        input: talk.slice(1),
      },
      nova,
    );
    const point = { cachePoint: { type: 'default' } };
    expect(body).toMatchObject({
      system: [{ text: 'Be kind.' }, point],
      messages: [
        { content: [{ text: 'q1' }] },
        { content: [{ text: 'a1' }, point] },
        { content: [{ text: 'q2' }] },
      ],
      toolConfig: { tools: [{ toolSpec: { name: 'f' } }] },
    });
  });

  it('of Gemini is cached likewise', async () => {
    const part = (role: string, words: string): object => ({ role, parts: [{ text: words }] });
    const request = {
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      contents: [part('user', 'q1'), part('model', 'a1'), part('user', 'q2')],
    };
    const { body, ignored } = await translator('gemini', 'messages')(request, auto);
    expect([marks(body), ignored]).toEqual([['Be kind.', 'a1'], []]);
  });

  it('of a client with marks in its API, or one mark, is left to the client', async () => {
    const { body } = await translator('messages', 'converse')(
      { max_tokens: 9, system: 'Be kind.', messages: talk.slice(1) },
      { cache: 'auto', name: 'anthropic.claude-opus-5' },
    );
    expect(JSON.stringify(body)).not.toContain('cachePoint');
    const one = [
      system,
      { role: 'user', content: [{ type: 'text', text: 'q1', ...cached }] },
      ...talk.slice(2),
    ];
    expect(await marked(one)).toEqual(['q1']);
  });
});

const words = fc.constantFrom<Part>(
  { kind: 'text', text: 'a' },
  { kind: 'thinking', text: 'b', signature: null },
);
const answer = fc.array(words, { minLength: 1, maxLength: 3 });
const rounds = fc.array(fc.tuple(answer, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 8 });

it('marks in each request the end of the request before', () => {
  fc.assert(
    fc.property(rounds, (list) => {
      const turns: Turn[] = [{ role: 'user', parts: [{ kind: 'text', text: 'q' }] }];
      let before: number | null = null;
      for (const [index, [parts, isCall, hasSystem]] of list.entries()) {
        const id = `call_${index}`;
        const called: Part = {
          kind: 'call',
          id,
          name: 'f',
          argumentsText: '{}',
          isFreeform: false,
          namespace: null,
        };
        turns.push({
          role: 'assistant',
          parts: isCall ? [...parts, called] : [...parts, { kind: 'text', text: 'end' }],
        });
        if (hasSystem && !isCall) turns.push({ role: 'system', parts: [{ kind: 'text', text: 's' }] });
        const result: Part = { kind: 'result', callId: id, parts: [], isError: false };
        turns.push({ role: 'user', parts: [isCall ? result : { kind: 'text', text: 'q' }] });
        const conversation: Conversation = {
          ...{
            turns,
            tools: [],
            choice: null,
            parallel: null,
            maxTokens: null,
            stop: [],
            sampling: noSampling,
          },
          ...{ output: null, reasoning: null, stream: false },
        };
        const places = withAutomaticPoints(conversation, { inTools: true }).turns.flatMap(({ parts }, at) =>
          parts.some((part) => 'cacheTtl' in part) ? [at] : [],
        );
        expect(places.length).toBeLessThanOrEqual(2);
        if (before !== null) expect(places).toContain(before);
        before = places.at(-1) ?? null;
        expect(before).not.toBeNull();
      }
    }),
  );
});
