import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CompletionRequest, Rewrite } from '../dialect.ts';
import { readRequest } from './request.ts';

const plain: Rewrite = {
  ...{ model: 'gpt-upstream', reasons: false, includeUsage: true, systemPrompt: null, reference: null },
  ...{ defaults: {}, maxTokens: null, tools: null },
};
const usual = { model: 'm', store: false, input: 'hi' };
const encrypted = 'reasoning.encrypted_content';

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

function read(body: unknown): CompletionRequest {
  const text = textOf(body);
  return readRequest('chat', Buffer.from(text), JSON.parse(text));
}

function rewritten(body: unknown, rewrite: Partial<Rewrite>): string {
  const source = read(body).source({ release: () => undefined });
  return source.rewritten({ ...plain, ...rewrite }).toString();
}

const after = (body: unknown, rewrite: Partial<Rewrite>) =>
  JSON.parse(rewritten(body, { model: 'm', ...rewrite })) as Record<string, unknown>;

const user = (content: unknown): object => ({ type: 'message', role: 'user', content });

describe('a request', () => {
  it.each([
    [{ ...usual, model: undefined }, 'missing_required_parameter', 'model'],
    [{ ...usual, model: 1 }, 'invalid_type', 'model'],
    [{ ...usual, input: undefined }, 'missing_required_parameter', 'input'],
    [{ ...usual, input: null }, 'missing_required_parameter', 'input'],
    [{ model: 'm', messages: [{ role: 'user', content: 'x' }] }, 'unsupported_parameter', 'messages'],
    [{ model: 'm', messages: 'x' }, 'missing_required_parameter', 'input'],
    [{ ...usual, input: [] }, 'invalid_value', 'input'],
    [{ ...usual, input: {} }, 'invalid_type', 'input'],
    [{ ...usual, input: ['hi'] }, 'invalid_type', 'input[0]'],
    [{ ...usual, input: [{ content: 'x' }] }, 'missing_required_parameter', 'input[0].role'],
    [{ ...usual, input: [{ role: 'user' }] }, 'missing_required_parameter', 'input[0].content'],
    [{ ...usual, input: [{ role: 'user', content: 1 }] }, 'invalid_type', 'input[0].content'],
    [{ ...usual, input: [{ type: 1 }] }, 'invalid_type', 'input[0].type'],
    [{ ...usual, store: 'no' }, 'invalid_type', 'store'],
    [{ ...usual, Store: true }, 'unknown_parameter', 'Store'],
    [{ ...usual, Input: 'x' }, 'unknown_parameter', 'Input'],
    [{ ...usual, previous_response_id: 1 }, 'invalid_type', 'previous_response_id'],
    [{ ...usual, conversation: { id: 'c' } }, 'unsupported_parameter', 'conversation'],
    [{ ...usual, conversation: 'c' }, 'unsupported_parameter', 'conversation'],
    [{ ...usual, prompt: { id: 'p' } }, 'unsupported_parameter', 'prompt'],
    [{ ...usual, background: true }, 'unsupported_parameter', 'background'],
    [{ ...usual, input: [user('x'), { type: 'item_reference' }] }, 'invalid_type', 'input[1].id'],
    [[], 'invalid_type', null],
  ])('%j is refused', (body, code, param) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code, param }));
  });

  it.each([
    { previous_response_id: null, conversation: null, prompt: null, background: false, instructions: null },
    { include: null, max_output_tokens: null, metadata: null, top_p: 1, user: null },
    { input: [{ type: 'compaction_trigger' }] },
    { input: [{ type: null, role: 'user', content: 'x' }] },
  ])('with %j is accepted', (fields) => {
    expect(() => read({ ...usual, ...fields })).not.toThrow();
  });

  it('is known by its amounts, texts, tools and session', () => {
    const picture = `data:image/png;base64,${'x'.repeat(1_000)}`;
    const request = read({
      ...usual,
      stream: true,
      instructions: 'the instructions',
      prompt_cache_key: 'session-7',
      service_tier: 'flex',
      max_output_tokens: 100,
      tools: [{ type: 'function', name: 'search', parameters: {} }, { type: 'web_search' }],
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }],
        },
        user([
          { type: 'input_image', image_url: picture },
          { type: 'input_text', text: 'What is it?' },
        ]),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'function_call', call_id: 'c', name: 'search', arguments: '{"q":"gate"}' },
        {
          ...{ type: 'function_call_output', call_id: 'c' },
          output: [
            { type: 'input_text', text: 'a gate' },
            { type: 'input_file', file_data: 'x'.repeat(500) },
          ],
        },
      ],
    });
    expect(request).toMatchObject({
      model: 'm',
      stream: true,
      wantsUsage: false,
      choices: 1,
      session: 'session-7',
    });
    expect(request.toolNames).toEqual(['search', undefined, 'functions', 'exec']);
    expect(request.lastUserText()).toEqual({ index: 1, text: 'What is it?' });
    expect(request.inputPreview(100)).toBe('What is it?');
    expect(request.thinking({}).budgets).toEqual([]);
    expect(request.requestedAmounts({ max_tokens: 7 })).toEqual({
      compacts: false,
      ...{ choices: 1, maxTokens: 100, serviceTier: 'flex', classes: [] },
      attachments: { count: 2, bytes: picture.length + 500 },
      feeTools: [
        { billed: 'web_search', type: 'web_search', counted: 'in its items', isHint: true, most: null },
      ],
    });
    const { beginning } = request.promptSample(['the prompt']);
    for (const text of [
      'the prompt',
      'the instructions',
      'What is it?',
      '{"q":"gate"}',
      'a gate',
      'hm',
      '"exec"',
    ])
      expect(beginning).toContain(text);
    expect(beginning).not.toContain('xxxx');
  });

  it('that is one text is a message of the user', () => {
    const request = read(usual);
    expect(request.lastUserText()).toEqual({ index: 0, text: 'hi' });
    expect(request.inputPreview(1)).toBe('h');
    expect(request.promptSample().beginning).toBe('hi');
  });

  it.each([
    [{ include: [encrypted] }, {}, true],
    [{}, {}, false],
    [{ include: [encrypted], store: true }, {}, false],
    [{ include: [encrypted] }, { systemPrompt: 'Be kind.' }, false],
    [{ include: [encrypted] }, { toolNames: new Set(['own']) }, false],
    [{ include: [encrypted] }, { kept: { id: null, previousId: 'resp_1' } }, false],
  ])('with %j and %j gets its answer as the provider wrote it: %j', (fields, added, expected) => {
    const nothing = { systemPrompt: null, toolNames: new Set<string>(), kept: null };
    expect(read({ ...usual, ...fields }).viewWith?.({ ...nothing, ...added }) === null).toBe(expected);
  });

  it('counts sounds as such, and takes its limit from the agent where it names none', () => {
    const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } };
    expect(
      read({ ...usual, input: [user([sound])] }).requestedAmounts({ max_completion_tokens: 7 }),
    ).toMatchObject({
      ...{ classes: ['inputAudio'], attachments: { count: 1, bytes: 4 }, maxTokens: 7 },
    });
    expect(
      read({ ...usual, max_output_tokens: null }).requestedAmounts({ max_tokens: 7 }).maxTokens,
    ).toBeNull();
  });
});

describe('a request for the provider', () => {
  it('stays as it is byte for byte, but for the model', () => {
    const odd =
      '{ "a":1.0, "model" : "m","big":12345678901234567890,"x":"\\ud800",\n"store" :false,"input":[{"role":"user","content":""}]}';
    expect(rewritten(odd, {})).toBe(odd.replace('"m"', '"gpt-upstream"'));
  });

  it('keeps every other byte of 2,000 bodies, whatever is changed', () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    const others = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 5 }).map((text) => `x_${text}`),
      value,
      { maxKeys: 3 },
    );
    const items = fc.array(
      fc.oneof(
        value.map((own) => ({ type: 'newer', own })),
        fc.constant(user('hi')),
      ),
      { minLength: 1, maxLength: 4 },
    );
    const input = fc.oneof(fc.string(), items);
    const same = (made: string, text: string): void => {
      if (made !== text) throw new Error(`${made} is not ${text}`);
    };
    fc.assert(
      fc.property(others, others, input, fc.integer({ min: 0, max: 2 }), (before, behind, asked, indent) => {
        const textWith = (fields: object): string =>
          JSON.stringify(
            { ...before, model: 'm', input: asked, store: false, ...behind, ...fields },
            null,
            indent,
          );
        const text = textWith({});
        same(rewritten(text, { model: 'm' }), text);
        same(rewritten(text, { model: 'other' }), textWith({ model: 'other' }));
        const own = textWith({ instructions: 'own' });
        same(
          rewritten(own, { model: 'm', systemPrompt: 'Be "kind"' }),
          textWith({ instructions: 'Be "kind"\n\nown' }),
        );
        const tools = { definitions: Buffer.from('{"own":1}'), messages: ['{"type":"own"}'], choice: null };
        const given = typeof asked === 'string' ? [user(asked)] : asked;
        const made = JSON.parse(rewritten(text, { model: 'm', tools })) as object;
        same(
          JSON.stringify(made),
          JSON.stringify({
            ...(JSON.parse(text) as object),
            ...{ input: [...given, { type: 'own' }], tools: [{ own: 1 }] },
          }),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [undefined, 'Be kind.'],
    [null, 'Be kind.'],
    ['', 'Be kind.'],
    ['Be "short".', 'Be kind.\n\nBe "short".'],
    [[], [{ type: 'message', role: 'developer', content: 'Be kind.' }]],
    [
      [{ role: 'developer', content: 'x' }],
      [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        { role: 'developer', content: 'x' },
      ],
    ],
  ])('has the prompt of an agent before the instructions %j', (instructions, expected) => {
    expect(after({ ...usual, instructions }, { systemPrompt: 'Be kind.' })['instructions']).toEqual(expected);
  });

  it('has the reference before the newest text of the user', () => {
    const reference = (index: number) => ({ reference: { index, content: 'REF' } });
    expect(after({ ...usual, input: 'hi "you"' }, reference(0))['input']).toEqual([
      user('REF'),
      user('hi "you"'),
    ]);
    const input = [user('one'), { type: 'message', role: 'assistant', content: 'a' }, user('two')];
    expect(after({ ...usual, input }, reference(2))['input']).toEqual([
      ...input.slice(0, 2),
      user('REF'),
      input[2],
    ]);
  });

  it.each([
    ['hi', [user('REF'), user('hi')]],
    [
      [user('a'), user('b')],
      [user('REF'), user('a'), user('b')],
    ],
  ])('has tools of the gateway, and the conversation with them behind %j', (input, expected) => {
    const tools = {
      definitions: Buffer.from('{"name":"own"}'),
      messages: ['{"type":"reasoning"},{"type":"function_call"}', '{"type":"function_call_output"}'],
      choice: 'auto' as const,
    };
    const body = {
      ...usual,
      input,
      tools: [{ name: 'theirs' }],
      tool_choice: { type: 'function', name: 'theirs' },
    };
    expect(after(body, { tools, reference: { index: 0, content: 'REF' } })).toEqual({
      ...usual,
      tools: [{ name: 'theirs' }, { name: 'own' }],
      input: [
        ...expected,
        { type: 'reasoning' },
        { type: 'function_call' },
        { type: 'function_call_output' },
      ],
      tool_choice: 'auto',
    });
    expect(after(usual, { tools: { ...tools, messages: [], choice: null } })).toEqual({
      ...usual,
      tools: [{ name: 'own' }],
    });
  });

  it.each([
    [{}, { temperature: 0.5, stop: 'x', max_tokens: 5, n: 2 }, { temperature: 0.5, max_output_tokens: 5 }],
    [
      {},
      { max_completion_tokens: 4, max_tokens: 5, top_p: 0.1, seed: 1 },
      { max_output_tokens: 4, top_p: 0.1 },
    ],
    [{ top_p: 0.9 }, { temperature: 0.5, top_p: 0.1 }, { top_p: 0.9, temperature: 0.5 }],
    [{ max_output_tokens: null }, { max_tokens: 5 }, { max_output_tokens: null }],
  ])('of %j has those parameters of the agent %j that this API has', (own, defaults, expected) => {
    expect(after({ ...usual, ...own }, { defaults })).toEqual({ ...usual, ...expected });
  });

  it.each([
    [{ max_output_tokens: 100 }, {}, 40],
    [{ max_output_tokens: 30 }, {}, 30],
    [{ max_output_tokens: 0 }, {}, 0],
    [{ max_output_tokens: null }, {}, 40],
    [{}, {}, 40],
    [{}, { max_tokens: 20 }, 20],
    [{}, { max_completion_tokens: 200 }, 40],
  ])('of %j and %j gets the limit that a budget holds', (own, defaults, expected) => {
    const maxTokens = { most: 40, field: 'max_tokens' } as const;
    expect(after({ ...usual, ...own }, { defaults, maxTokens })['max_output_tokens']).toBe(expected);
  });

  it.each<[object, Partial<Rewrite>, object]>([
    [{ store: undefined }, {}, { store: false }],
    [{ store: null }, {}, { store: false }],
    [{ store: true }, {}, { store: false }],
    [{ store: true }, { reasons: true }, { store: false, include: [encrypted] }],
    [{ store: true, include: null }, { reasons: true }, { store: false, include: [encrypted] }],
    [{ store: true, include: ['a'] }, { reasons: true }, { store: false, include: ['a', encrypted] }],
    [{ store: true, include: [encrypted] }, { reasons: true }, { store: false, include: [encrypted] }],
    [{ store: false }, { reasons: true }, { store: false }],
    [{ store: true, reasoning: { effort: 'low' } }, { reasons: false }, { reasoning: { effort: 'low' } }],
  ])('of %j lets the provider keep nothing, and has thoughts encrypted: %j', (own, rewrite, expected) => {
    expect(after({ ...usual, ...own }, rewrite)).toEqual({ ...usual, ...expected });
  });

  it.each([
    [{}, false],
    [{ reasoning: { effort: 'low' } }, true],
    [{ reasoning: { effort: null, summary: null } }, false],
  ])('knows by %j whether a model reasons that the catalogue does not know', (own, expected) => {
    const made = after({ ...usual, store: true, ...own }, { reasons: undefined });
    expect(made['include']).toEqual(expected ? [encrypted] : undefined);
  });

  it('leaves thoughts out that are there by their id alone, and no others', () => {
    const lost = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null };
    const kept = fc.constantFrom<object>(
      { ...lost, encrypted_content: 'enc' },
      { ...lost, content: [{ type: 'reasoning_text', text: 'hm' }] },
      user('hi'),
    );
    const input = fc.array(fc.oneof(fc.constant<object>(lost), kept), { minLength: 1, maxLength: 8 });
    const tools = { definitions: Buffer.from('{"name":"own"}'), messages: ['{"type":"own"}'], choice: null };
    fc.assert(
      fc.property(input, fc.integer({ min: 0, max: 2 }), fc.boolean(), (items, indent, isTurn) => {
        const others = items.filter((item) => item !== lost);
        const expected = others.length === 0 ? items : others;
        const text = JSON.stringify({ model: 'm', input: items }, null, indent);
        const index = items.findIndex((item) => (item as { role?: string }).role === 'user');
        const reference = index < 0 ? null : { index, content: 'REF' };
        const made = after(text, isTurn ? { tools, reference } : {})['input'] as object[];
        const own = (item: object): boolean =>
          JSON.stringify(item).includes('"own"') || JSON.stringify(item).includes('REF');
        expect(made.filter((item) => !own(item))).toEqual(expected);
        if (isTurn) expect(made.filter(own)).toHaveLength(reference === null ? 1 : 2);
        const unstored = JSON.stringify({ ...usual, input: items }, null, indent);
        // No provider takes them without `store` either: the summary of another vendor has nothing behind it.
        const sent = rewritten(unstored, { model: 'm' });
        if (others.length === items.length) expect(sent).toBe(unstored);
        else expect(JSON.parse(sent)).toMatchObject({ input: expected });
      }),
    );
  });

  it('with tools of the gateway has thoughts encrypted, so that they go back', () => {
    const tools = { definitions: Buffer.from('{"name":"own"}'), messages: [], choice: null };
    expect(after(usual, { tools, reasons: true })['include']).toEqual([encrypted]);
  });
});
