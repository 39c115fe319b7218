import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ClientView } from './client-view.ts';

const nothing = { systemPrompt: null, toolNames: new Set<string>(), kept: null };
const asked = new ClientView({ store: true, encrypted: false, ...nothing });

const thought = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'enc"x' };
const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: 'enc' };
const shownThought = { ...thought, encrypted_content: null };
const response = {
  id: 'resp_1',
  store: false,
  big: 1,
  output: [thought, compaction],
  metadata: { store: 'x' },
};
const shownResponse = { ...response, store: true, output: [shownThought, compaction] };

const frame = (fields: { type: string }, indent?: number): Buffer =>
  Buffer.from(
    `event: ${fields.type}\n${JSON.stringify(fields, null, indent)
      .split('\n')
      .map((line) => `data: ${line}\n`)
      .join('')}\n`,
  );

describe('what a client asked for', () => {
  it.each([
    ['response.completed', { response }, { response: shownResponse }],
    ['response.output_item.done', { item: thought }, { item: shownThought }],
    ['response.output_item.done', { item: compaction }, { item: compaction }],
    [
      'response.output_text.delta',
      { delta: '"store":false,"encrypted_content":1' },
      {
        delta: '"store":false,"encrypted_content":1',
      },
    ],
  ])('is shown in the event %s', (type, fields, shown) => {
    expect(String(asked.frame(frame({ type, ...fields })))).toBe(String(frame({ type, ...shown })));
  });

  it('is shown in an event whose data has several lines', () => {
    const made = asked.frame(frame({ type: 'response.completed', response } as { type: string }, 1));
    expect(String(made)).toBe(String(frame({ type: 'response.completed', ...{ response: shownResponse } })));
  });

  it('is shown in a whole answer', async () => {
    const made = await asked.whole(Buffer.from(JSON.stringify(response, null, 2)), 't');
    expect(String(made)).toBe(JSON.stringify(shownResponse, null, 2));
  });

  it('leaves each byte of other answers', async () => {
    const odd = Buffer.from(
      '{ "store" : true,"n":1.0,"big":12345678901234567890,"output":[{"type":"reasoning"}]}',
    );
    expect(await asked.whole(odd, 't')).toEqual(odd);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }), (fields) => {
        const own = frame({ ...fields, type: 'newer', name: 'encrypted_content' } as { type: string });
        if (Object.hasOwn(fields, 'response') || Object.hasOwn(fields, 'item')) return;
        expect(asked.frame(own)).toEqual(own);
      }),
    );
  });

  it('keeps what the provider says of storage, or encrypted, for a client that asked for it', () => {
    const plain = frame({ type: 'response.completed', response } as { type: string });
    const encrypted = new ClientView({ store: true, encrypted: true, ...nothing }).frame(plain);
    expect(String(encrypted)).toBe(String(plain).replace('"store":false', '"store":true'));
    const unstored = new ClientView({ store: false, encrypted: false, ...nothing }).frame(plain);
    expect(String(unstored)).toBe(String(plain).replace('"enc\\"x"', 'null'));
  });
});

describe('the additions of an agent', () => {
  const view = new ClientView({
    ...{ store: false, encrypted: true, systemPrompt: 'Be "kind".', kept: null },
    toolNames: new Set(['own_a', 'own_b']),
  });
  const tool = (name: string): object => ({ type: 'function', name, parameters: { name: 'own_a' } });
  const shown = async (fields: object): Promise<unknown> =>
    JSON.parse(
      String(await view.whole(Buffer.from(JSON.stringify({ id: 'resp_1', ...fields }, null, 1)), 't')),
    );

  it.each([
    ['Be "kind".', null],
    ['Be "kind".\n\nBe short.', 'Be short.'],
    ['Written otherwise: Be "kind".', null],
    [[{ role: 'developer', content: 'Be "kind".' }], null],
    [null, null],
  ])('are left out of the instructions %j', async (instructions, expected) => {
    expect(await shown({ instructions, output: [] })).toEqual({
      ...{ id: 'resp_1', instructions: expected, output: [] },
    });
  });

  it('are left out of the tools, whatever others there are', async () => {
    const names = fc.array(fc.constantFrom('own_a', 'own_b', 'theirs', 'others'), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(names, async (all) => {
        const tools = [...all.map(tool), ...(all.length > 4 ? [{ type: 'web_search' }] : [])];
        const expected = tools.filter((each) => !('name' in each) || !String(each.name).startsWith('own'));
        expect(await shown({ tools })).toEqual({ id: 'resp_1', tools: expected });
      }),
    );
  });

  it('are left out of an answer that is too large to be read at once', async () => {
    const output = [{ type: 'image_generation_call', result: 'x'.repeat(13 * 2 ** 20) }];
    const made = await shown({
      instructions: 'Be "kind".\n\nx',
      output,
      tools: [tool('own_a'), tool('theirs')],
    });
    expect(made).toMatchObject({ instructions: null, tools: [] });
    expect((made as { output: unknown }).output).toEqual(output);
  });

  it('are left out of the events of a stream', () => {
    const events = { instructions: 'Be "kind".', tools: [tool('own_a')], output: [] };
    const made = view.frame(frame({ type: 'response.created', response: events } as { type: string }));
    expect(String(made)).toBe(
      String(
        frame({ type: 'response.created', response: { instructions: null, tools: [], output: [] } } as {
          type: string;
        }),
      ),
    );
  });
});
