import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Rewrite } from '../dialect.ts';
import { readCountRequest, readRequest } from './request.ts';

const plain: Rewrite = {
  ...{ model: 'gemini-3-pro', includeUsage: true, systemPrompt: null, reference: null, defaults: {} },
  ...{ maxTokens: null, tools: null },
};
const user = { role: 'user', parts: [{ text: 'Go.' }] };
const model = (...parts: object[]) => ({ role: 'model', parts });
const keepAlive = { text: '', thought: true };
const call = (name: string) => ({ functionCall: { name, args: { n: 1 } } });
const result = (name: string) => ({ role: 'user', parts: [{ functionResponse: { name, response: {} } }] });
const marked = 'gatehouse.anthropic:k:mac.t.sig';
const standIn = { thoughtSignature: 'skip_thought_signature_validator' };

function textAfter(body: unknown, rewrite: Partial<Rewrite> = {}): string {
  const inPath = { model: 'm', stream: false };
  const source = readRequest('chat', Buffer.from(JSON.stringify(body)), body, inPath).source({
    release: () => undefined,
  });
  return source.rewritten({ ...plain, ...rewrite }).toString();
}

const after = (contents: unknown, rewrite?: Partial<Rewrite>) =>
  (JSON.parse(textAfter({ contents }, rewrite)) as { contents: unknown }).contents;

describe('keep-alives that come back', () => {
  it.each([
    [
      'as contents of their own',
      [user, model(keepAlive), model({ text: 'Hi' }), user],
      [user, model({ text: 'Hi' }), user],
    ],
    [
      'beside others',
      [user, model({ text: 'a' }, keepAlive, keepAlive), user],
      [user, model({ text: 'a' }), user],
    ],
    ['at the end', [user, model({ text: 'a' }), model(keepAlive)], [user, model({ text: 'a' })]],
    [
      'without their text',
      [user, model({ thought: true }), model({ text: 'a' })],
      [user, model({ text: 'a' })],
    ],
    ['without brackets', [user, { role: 'model', parts: keepAlive }, user], [user, user]],
    [
      'with an empty signature in the other spelling',
      [user, model({ ...keepAlive, thought_signature: '' }, { text: 'a' })],
      [user, model({ text: 'a' })],
    ],
  ])('%s are taken out', (_how, contents, expected) => {
    expect(after(contents)).toEqual(expected);
  });

  it.each([
    ['a signed empty thought', [user, model({ ...keepAlive, thoughtSignature: 'c2ln' })]],
    ['an empty text', [user, model({ text: '' })]],
    ['an empty thought of the user', [{ role: 'user', parts: [keepAlive] }]],
    ['the only content', [model(keepAlive)]],
    ['the only content, without brackets', model(keepAlive)],
    ['a thought', [user, model({ text: 'hm', thought: true }, { text: 'a' })]],
  ])('%s stays', (_what, contents) => {
    expect(after(contents)).toEqual(contents);
  });
});

describe('calls of another model', () => {
  it.each<[string, object[], object[]]>([
    [
      'get the stand-in on the first of a step',
      [call('a'), call('b')],
      [{ ...call('a'), ...standIn }, call('b')],
    ],
    [
      'get it behind a signed text',
      [{ text: 'x', thoughtSignature: 'c2ln' }, call('a')],
      [
        { text: 'x', thoughtSignature: 'c2ln' },
        { ...call('a'), ...standIn },
      ],
    ],
    [
      'get it beside a later signature',
      [call('a'), { ...call('b'), thoughtSignature: 'c2ln' }],
      [
        { ...call('a'), ...standIn },
        { ...call('b'), thoughtSignature: 'c2ln' },
      ],
    ],
    [
      'get it in place of an empty signature',
      [{ ...call('a'), thoughtSignature: '' }],
      [{ ...call('a'), ...standIn }],
    ],
    [
      'get it in the other spelling',
      [{ function_call: { name: 'a' } }],
      [{ function_call: { name: 'a' }, ...standIn }],
    ],
    [
      "keep Google's own signature",
      [{ ...call('a'), thoughtSignature: 'c2ln' }, call('b')],
      [{ ...call('a'), thoughtSignature: 'c2ln' }, call('b')],
    ],
    ['keep a stand-in', [{ ...call('a'), ...standIn }], [{ ...call('a'), ...standIn }]],
  ])('%s', (_how, parts, expected) => {
    expect(after([user, model(...parts), result('a')])).toEqual([user, model(...expected), result('a')]);
  });

  it('get one for each step, also where each piece of a stream is a content', () => {
    const steps = [
      user,
      model({ text: 'x' }),
      model(call('a')),
      model(call('b')),
      result('a'),
      model(call('c')),
      result('c'),
    ];
    expect(after(steps)).toEqual([
      ...[user, model({ text: 'x' }), model({ ...call('a'), ...standIn }), model(call('b')), result('a')],
      ...[model({ ...call('c'), ...standIn }), result('c')],
    ]);
    const own = [user, model({ ...call('a'), thoughtSignature: 'c2ln' }), model(call('b'))];
    expect(after(own)).toEqual(own);
  });

  it('stay as they are for models before Gemini 3, and for translation', () => {
    const contents = [user, model(call('a')), result('a')];
    expect(after(contents, { model: 'gemini-2.5-pro' })).toEqual(contents);
    expect(after(contents, { isTranslated: true })).toEqual(contents);
  });

  it('get it in counts, and in what the gateway adds', () => {
    const contents = [user, model(call('a'))];
    const expected = [user, model({ ...call('a'), ...standIn })];
    const body = { generateContentRequest: { model: 'models/m', contents } };
    const text = JSON.stringify(body);
    const inPath = { model: 'm', stream: false };
    const source = readCountRequest(Buffer.from(text), body, inPath).source({ release: () => undefined });
    expect(JSON.parse(source.rewritten(plain).toString())).toMatchObject({
      generateContentRequest: { contents: expected },
    });
    const tools = {
      ...{ definitions: Buffer.from('{"name":"a"}'), choice: null },
      messages: [JSON.stringify(model(call('a'))), JSON.stringify(result('a'))],
    };
    expect(after([user], { tools })).toEqual([...expected, result('a')]);
  });
});

describe('thoughts of another origin', () => {
  const foreign = { thoughtSignature: marked };

  it('leave with their signature', () => {
    const thoughts = [
      { text: 'I ', thought: true },
      { text: 'see', thought: true },
    ];
    expect(after([user, model(...thoughts, { ...call('a'), ...foreign })])).toEqual([
      user,
      model({ ...call('a'), ...standIn }),
    ]);
    const pieces = [
      user,
      ...thoughts.map((thought) => model(thought)),
      model({ text: 'a', ...foreign }),
      model({ text: 'b' }),
    ];
    expect(after(pieces)).toEqual([user, model({ text: 'a', ...standIn }), model({ text: 'b' })]);
    expect(after([user, model({ text: 'hm', thought: true, ...foreign }, { text: 'a' })])).toEqual([
      user,
      model({ text: 'a' }),
    ]);
    expect(after([user, model({ text: 'a' }, { text: '', ...foreign })])).toEqual([
      user,
      model({ text: 'a' }),
    ]);
  });

  it('are those of another account, too, and no others', () => {
    const contents = [user, model({ text: 'hm', thought: true }, { ...call('a'), thoughtSignature: 'c2ln' })];
    expect(after(contents, { keepsSignature: () => false })).toEqual([
      user,
      model({ ...call('a'), ...standIn }),
    ]);
    expect(after(contents)).toEqual(contents);
  });
});

it('is valid JSON in any history, with a stand-in or signature on each first call', () => {
  const signature = fc.constantFrom(
    {},
    { thoughtSignature: 'c2ln' },
    { thought_signature: marked },
    { thoughtSignature: '' },
  );
  const bare = fc.constantFrom<object>(
    keepAlive,
    { text: '' },
    { text: 'a' },
    { text: 'hm', thought: true },
    call('a'),
    {},
  );
  const part = fc.tuple(bare, signature).map(([fields, signed]) => ({ ...fields, ...signed }));
  const parts = fc.oneof(fc.array(part, { maxLength: 4 }), part);
  const content = fc.record({ role: fc.constantFrom('user', 'model'), parts });
  fc.assert(
    fc.property(fc.array(content, { minLength: 1, maxLength: 6 }), (contents) => {
      const body = { contents };
      const text = textAfter(body, {
        tools: { definitions: Buffer.from('{}'), messages: ['{"role":"user","parts":[]}'], choice: null },
      });
      expect(text).not.toContain('gatehouse.');
      let hasCalls = false;
      for (const { role, parts: list } of (JSON.parse(text) as typeof body).contents) {
        if (role !== 'model') hasCalls = false;
        for (const each of [list].flat())
          if (role === 'model' && 'functionCall' in each && !hasCalls) {
            hasCalls = true;
            expect(JSON.stringify(each)).toMatch(/"thought_?[sS]ignature":"./);
          }
      }
    }),
    { numRuns: 500 },
  );
});

describe('contents with more parts than any conversation has', () => {
  const many = <Element>(element: Element): Element[] => Array<Element>(50_000).fill(element);
  const read = (operation: 'chat' | 'embeddings', fields: object): unknown =>
    readRequest(operation, Buffer.from(JSON.stringify(fields)), fields, { model: 'm', stream: false });

  it.each([
    ['contents', [[{}, ...many({})]]],
    ['parts', [[{ role: 'user', parts: many({}) }]]],
    ['parts of results', [[{ parts: [{ functionResponse: { parts: many({}) } }] }]]],
    ['parts in the other spelling', [[{ parts: [{ function_response: { parts: many({}) } }] }]]],
  ])('are refused: %s', (_what, [contents]) => {
    expect(() => read('chat', { contents })).toThrow('more than 50000 parts');
  });

  it('are refused beside each other, and for vectors', () => {
    const half = { parts: many({}).slice(0, 24_999) };
    expect(() => read('chat', { contents: [half, half] })).not.toThrow();
    expect(() => read('chat', { contents: [half, half, {}] })).toThrow('more than 50000 parts');
    expect(() => read('embeddings', { content: { parts: many({}) } })).toThrow('more than 50000 parts');
  });
});
