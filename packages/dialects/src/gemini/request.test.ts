import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CompletionRequest, Rewrite } from '../dialect.ts';
import { readRequest } from './request.ts';

const plain: Rewrite = {
  ...{ model: 'gemini-upstream', includeUsage: true, systemPrompt: null, reference: null, defaults: {} },
  ...{ maxTokens: null, tools: null },
};
const said = (text: string, role = 'user') => ({ role, parts: [{ text }] });
const usual = { contents: [said('hi')] };

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

function read(body: unknown, inPath = { model: 'm', stream: false }): CompletionRequest {
  const text = textOf(body);
  return readRequest('chat', Buffer.from(text), JSON.parse(text), inPath);
}

function rewritten(body: unknown, rewrite: Partial<Rewrite>): string {
  const source = read(body).source({ release: () => undefined });
  return source.rewritten({ ...plain, ...rewrite }).toString();
}

const after = (body: unknown, rewrite: Partial<Rewrite>) =>
  JSON.parse(rewritten(body, rewrite)) as Record<string, unknown>;

describe('a request', () => {
  it.each([
    [{}, 'missing_required_parameter', 'contents'],
    [{ contents: null }, 'missing_required_parameter', 'contents'],
    [{ contents: [] }, 'invalid_value', 'contents'],
    [{ contents: 'x' }, 'invalid_type', 'contents'],
    [{ contents: [1] }, 'invalid_type', 'contents[0]'],
    [{ contents: [{ role: 1 }] }, 'invalid_type', 'contents[0].role'],
    [{ contents: [{ parts: 'x' }] }, 'invalid_type', 'contents[0].parts'],
    [{ ...usual, generationConfig: 1 }, 'invalid_type', 'generationConfig'],
    [
      { ...usual, generationConfig: { maxOutputTokens: [] } },
      'invalid_type',
      'generationConfig.maxOutputTokens',
    ],
    [{ ...usual, GenerationConfig: {} }, 'unknown_parameter', 'GenerationConfig'],
    [{ ...usual, generation_Config: {} }, 'unknown_parameter', 'generation_Config'],
    [{ ...usual, generationConfig: {}, generation_config: {} }, 'invalid_value', 'generation_config'],
    [
      { ...usual, generationConfig: { maxoutputtokens: 1 } },
      'unknown_parameter',
      'generationConfig.maxoutputtokens',
    ],
    [
      { ...usual, generation_config: { max_output_tokens: 1, maxOutputTokens: 2 } },
      'invalid_value',
      'generationConfig.maxOutputTokens',
    ],
    [
      { ...usual, generationConfig: { routingConfig: {}, routing_config: {} } },
      'invalid_value',
      'generationConfig.routing_config',
    ],
    [
      { ...usual, generationConfig: { routingConfig: { manualMode: { MODEL_NAME: 'x' } } } },
      'unknown_parameter',
      'generationConfig.routingConfig.manualMode.MODEL_NAME',
    ],
    [[], 'invalid_type', null],
  ])('%j is refused', (body, code, param) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code, param }));
  });

  it('has its model and its way of answering from the path', () => {
    expect(read(usual, { model: 'agent:a', stream: true })).toMatchObject({ model: 'agent:a', stream: true });
    expect(() => read(usual, { model: '', stream: true })).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'model' }),
    );
  });

  const data = 'x'.repeat(1_000);
  const camel = {
    systemInstruction: { parts: [{ text: 'the system' }] },
    generationConfig: {
      ...{ maxOutputTokens: 100, candidateCount: 2, responseModalities: ['TEXT', 'IMAGE'] },
      thinkingConfig: { thinkingBudget: 50 },
    },
    tools: [{ functionDeclarations: [{ name: 'search', parametersJsonSchema: { type: 'object' } }] }],
    contents: [
      { role: 'user', parts: [{ inlineData: { mimeType: 'audio/mp3', data } }, { text: 'What is it?' }] },
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true },
          { functionCall: { name: 'search', args: { q: 'gate' } }, thoughtSignature: 'c2ln' },
        ],
      },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              ...{ name: 'search', response: { output: 'a gate' } },
              parts: [{ inlineData: { mimeType: 'image/png', data } }],
            },
          },
        ],
      },
    ],
  };
  /** The same in the other spelling, as Python's clients write it. */
  const snake = JSON.parse(
    JSON.stringify(camel).replaceAll(/"(\w+)":/g, (_name, name: string) => {
      return `"${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`;
    }),
  ) as unknown;

  it.each([
    ['camelCase', camel],
    ['snake_case', snake],
  ])('in %s is known by its amounts, texts and tools', (_spelling, body) => {
    const request = read(body);
    expect(request).toMatchObject({ wantsUsage: false, choices: 2, session: null });
    expect(request.toolNames).toEqual(['search']);
    expect(request.lastUserText()).toEqual({ index: 0, text: 'What is it?' });
    expect(request.inputPreview(100)).toBe('');
    expect(request.thinking({}).budgets).toEqual([50]);
    expect(request.choicesWith({ n: 7 })).toBe(2);
    expect(request.requestedAmounts({ max_tokens: 7 })).toEqual({
      ...{ choices: 2, maxTokens: 100, serviceTier: null, classes: ['inputAudio', 'outputImage'] },
      attachments: { count: 2, bytes: 2_000 },
      feeTools: [],
    });
    const { beginning } = request.promptSample(['the prompt']);
    for (const text of [
      'the prompt',
      'the system',
      'What is it?',
      'hm',
      '{"q":"gate"}',
      'a gate',
      '"search"',
    ])
      expect(beginning).toContain(text);
    expect(beginning).not.toContain('xxxx');
  });

  it('is read where lists of one stand without their brackets, and numbers as texts', () => {
    const request = read({
      contents: { parts: { text: 'hi' } },
      system_instruction: { parts: { text: 'system' } },
      tools: { function_declarations: { name: 'f' } },
      generationConfig: { maxOutputTokens: '40', candidateCount: '3' },
    });
    expect(request.lastUserText()).toEqual({ index: 0, text: 'hi' });
    expect(request.toolNames).toEqual(['f']);
    expect(request.requestedAmounts({})).toMatchObject({ maxTokens: 40, choices: 3 });
    expect(request.promptSample().beginning).toContain('systemhi');
  });

  it('is read where values are of no use', () => {
    const odd = { toString: 1 };
    const parts = [{ inlineData: { mimeType: odd, data: odd }, functionCall: { name: odd, args: odd } }];
    const request = read({
      contents: [{ role: 'model', parts }],
      generationConfig: { responseModalities: [odd] },
    });
    expect(request.requestedAmounts({})).toMatchObject({ classes: [], attachments: { count: 1, bytes: 0 } });
    expect(() => request.promptSample()).not.toThrow();
  });

  it('has its limit from the agent where it has none, and no budget where the model may choose it', () => {
    expect(read(usual).requestedAmounts({ max_completion_tokens: 7 }).maxTokens).toBe(7);
    expect(read(usual).requestedAmounts({}).maxTokens).toBeNull();
    const free = {
      ...usual,
      generationConfig: { maxOutputTokens: null, thinkingConfig: { thinkingBudget: -1 } },
    };
    expect(read(free).requestedAmounts({ max_tokens: 7 }).maxTokens).toBeNull();
    expect(read(free).thinking({}).budgets).toEqual([]);
  });

  it('counts the text of a file in Base64 as text', () => {
    const file = { inlineData: { mimeType: 'text/plain', data } };
    expect(read({ contents: [{ parts: [file] }] }).requestedAmounts({}).attachments).toEqual({
      count: 0,
      bytes: 0,
    });
  });
});

describe('a request for the provider', () => {
  it('stays as it is byte for byte, but for a model in it', () => {
    const odd =
      '{ "a":1.0, "model" : "models/m","big":12345678901234567890,"x":"\\ud800",\n"contents":[{"parts":[{"text":""}]}]}';
    expect(rewritten(odd, {})).toBe(odd.replace('"models/m"', '"models/gemini-upstream"'));
  });

  it.each([
    [undefined, { parts: [{ text: 'Be kind.' }] }],
    [null, { parts: [{ text: 'Be kind.' }] }],
    ['Be "short".', { parts: [{ text: 'Be kind.' }, { text: 'Be "short".' }] }],
    [{}, { parts: [{ text: 'Be kind.' }] }],
    [{ role: 'user' }, { role: 'user', parts: [{ text: 'Be kind.' }] }],
    [{ parts: [] }, { parts: [{ text: 'Be kind.' }] }],
    [{ parts: null }, { parts: [{ text: 'Be kind.' }] }],
    [{ parts: { text: 'x' } }, { parts: [{ text: 'Be kind.' }, { text: 'x' }] }],
    [
      { parts: [{ text: 'x' }], role: 'user' },
      { parts: [{ text: 'Be kind.' }, { text: 'x' }], role: 'user' },
    ],
  ])('has the prompt of an agent before the instruction %j, in either spelling', (given, expected) => {
    const rewrite = { systemPrompt: 'Be kind.' };
    expect(after({ systemInstruction: given, ...usual }, rewrite)['systemInstruction']).toEqual(expected);
    const snake = given === undefined ? 'systemInstruction' : 'system_instruction';
    expect(after({ ...usual, system_instruction: given }, rewrite)).toEqual({ ...usual, [snake]: expected });
  });

  it.each([
    [[{ text: 'hi' }], [{ text: 'REF' }, { text: 'hi' }]],
    [{ text: 'hi' }, [{ text: 'REF' }, { text: 'hi' }]],
    [
      [{ functionResponse: { name: 'f', response: { text: 'x' } } }, { text: 'and?' }],
      [{ functionResponse: { name: 'f', response: { text: 'x' } } }, { text: 'REF' }, { text: 'and?' }],
    ],
    [
      [{ text: 'hm', thought: true }, { inlineData: {} }, { text: 'x' }],
      [{ text: 'hm', thought: true }, { inlineData: {} }, { text: 'REF' }, { text: 'x' }],
    ],
  ])('has the reference before the first text of %j, and behind results', (parts, expected) => {
    const contents = [said('hi'), said('a', 'model'), { parts }];
    expect(read({ contents }).lastUserText()?.index).toBe(2);
    expect(after({ contents }, { reference: { index: 2, content: 'REF' } })['contents']).toEqual([
      ...contents.slice(0, 2),
      { parts: expected },
    ]);
    expect(after({ contents: { parts } }, { reference: { index: 0, content: 'REF' } })['contents']).toEqual({
      parts: expected,
    });
  });

  const tools = {
    definitions: Buffer.from('{"name":"own"},{"name":"other"}'),
    messages: ['{"role":"model","parts":[]}', '{"role":"user","parts":[]}'],
    choice: 'auto' as const,
  };
  const own = [{ name: 'own' }, { name: 'other' }];

  it.each([
    [undefined, [{ functionDeclarations: own }]],
    [null, [{ functionDeclarations: own }]],
    [[], [{ functionDeclarations: own }]],
    [[{ googleSearch: {} }], [{ googleSearch: {} }, { functionDeclarations: own }]],
    [{ googleSearch: {} }, [{ googleSearch: {} }, { functionDeclarations: own }]],
    [
      [{ googleSearch: {} }, { functionDeclarations: [{ name: 'a' }] }, { functionDeclarations: [] }],
      [{ googleSearch: {} }, { functionDeclarations: [{ name: 'a' }, ...own] }, { functionDeclarations: [] }],
    ],
    [[{ function_declarations: { name: 'a' } }], [{ function_declarations: [{ name: 'a' }, ...own] }]],
    [{ functionDeclarations: null }, { functionDeclarations: own }],
  ])('with the tools %j has those of the gateway among their functions', (given, expected) => {
    expect(after({ tools: given, ...usual }, { tools: { ...tools, messages: [], choice: null } })).toEqual({
      ...usual,
      tools: expected,
    });
  });

  it.each([
    [undefined, { functionCallingConfig: { mode: 'AUTO' } }],
    [{}, { functionCallingConfig: { mode: 'AUTO' } }],
    [{ retrievalConfig: {} }, { retrievalConfig: {}, functionCallingConfig: { mode: 'AUTO' } }],
    [
      { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] }, a: 1 },
      { functionCallingConfig: { mode: 'AUTO' }, a: 1 },
    ],
    [{ function_calling_config: { mode: 'ANY' } }, { function_calling_config: { mode: 'AUTO' } }],
  ])(
    'with the choice %j has the conversation with its tools, and leaves the choice to the model',
    (given, expected) => {
      const made = after({ toolConfig: given, contents: { parts: { text: 'hi' } } }, { tools });
      expect(made).toEqual({
        contents: [{ parts: { text: 'hi' } }, { role: 'model', parts: [] }, { role: 'user', parts: [] }],
        tools: [{ functionDeclarations: own }],
        toolConfig: expected,
      });
    },
  );

  it.each([
    [
      {},
      { temperature: 1.5, top_p: 0.1, stop: 'x', max_tokens: 5, n: 2, seed: 1 },
      { temperature: 1.5, topP: 0.1, stopSequences: ['x'], maxOutputTokens: 5, seed: 1 },
    ],
    [
      { topP: 0.9, topK: 3 },
      { temperature: 0.5, top_p: 0.1 },
      { topP: 0.9, topK: 3, temperature: 0.5 },
    ],
    [
      { top_p: null, max_output_tokens: 3 },
      { top_p: 0.1, max_tokens: 5 },
      { top_p: null, max_output_tokens: 3 },
    ],
  ])('of %j has those parameters of the agent %j that Google knows', (given, defaults, expected) => {
    const empty = Object.keys(given).length === 0;
    expect(after({ ...usual, generationConfig: given }, { defaults })).toEqual({
      ...usual,
      generationConfig: expected,
    });
    expect(after({ generation_config: given, ...usual }, { defaults })['generation_config']).toEqual(
      expected,
    );
    if (empty) expect(after(usual, { defaults })).toEqual({ ...usual, generationConfig: expected });
    if (empty)
      expect(after({ ...usual, generationConfig: null }, { defaults })['generationConfig']).toEqual(expected);
  });

  it.each([
    [{ maxOutputTokens: 100, topK: 1 }, {}, 40],
    [{ max_output_tokens: '100' }, {}, 40],
    [{ maxOutputTokens: 30 }, {}, 30],
    [{ maxOutputTokens: '30' }, {}, '30'],
    [{ maxOutputTokens: null }, {}, 40],
    [{ maxOutputTokens: 0 }, {}, 0],
    [{ maxOutputTokens: -1 }, {}, 40],
    [{}, {}, 40],
    [undefined, {}, 40],
    [{}, { max_tokens: 20 }, 20],
    [{}, { max_completion_tokens: 200 }, 40],
  ])('of %j and %j gets the limit that a budget holds', (generationConfig, defaults, expected) => {
    const maxTokens = { most: 40, field: 'max_tokens' } as const;
    const made = after({ ...usual, generationConfig }, { defaults, maxTokens })['generationConfig'] as object;
    expect(Object.entries(made).filter(([name]) => /^max/.test(name))).toEqual([
      [expect.anything(), expected],
    ]);
  });

  it('keeps every other byte of 1,500 bodies, whatever is added', () => {
    // No field that the gateway reads, in any spelling.
    const value = fc.jsonValue({ maxDepth: 1 });
    const others = fc.dictionary(
      fc.string({ maxLength: 5 }).map((name) => `x ${name}`),
      value,
      { maxKeys: 2 },
    );
    const part = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ text: fc.string({ minLength: 1 }), thought: fc.constant(true) }),
      fc.record({ functionResponse: fc.record({ name: fc.string(), response: others }) }),
      others,
    );
    const parts = fc.oneof(fc.array(part, { maxLength: 3 }), fc.record({ text: fc.string() }));
    const content = fc.record({ role: fc.constantFrom('user', 'model'), parts, more: value });
    const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
    const config = fc.record({
      topP: optional(fc.double()),
      maxOutputTokens: optional(fc.nat()),
      more: value,
    });
    const body = fc.record({
      before: others,
      contents: fc.oneof(fc.array(content, { minLength: 1, maxLength: 4 }), content),
      systemInstruction: optional(fc.record({ parts, more: value })),
      tools: optional(
        fc.array(fc.oneof(others, fc.record({ functionDeclarations: fc.array(others, { maxLength: 2 }) }))),
      ),
      toolConfig: optional(fc.record({ functionCallingConfig: optional(others), more: value })),
      generationConfig: optional(config),
      last: value,
    });
    const space = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(body, space, fc.boolean(), (fields, indent, acts) => {
        const text = JSON.stringify(fields, null, indent);
        expect(rewritten(text, {})).toBe(text);
        if (!acts) return;
        const last = read(text).lastUserText();
        const marks = { prompt: '<<prompt>>', reference: '<<reference>>' };
        const made = rewritten(text, {
          systemPrompt: marks.prompt,
          reference: last && { index: last.index, content: marks.reference },
          defaults: { temperature: 0.5 },
          tools: { ...tools, choice: null },
        });
        expect(() => JSON.parse(made) as unknown).not.toThrow();
        // The client's bytes are left, in their order.
        expect(isWithin(text, made)).toBe(true);
        expect(made.split(marks.prompt)).toHaveLength(2);
        expect(made.split(marks.reference)).toHaveLength(last === null ? 1 : 2);
      }),
      { numRuns: 1_500 },
    );
  });
});

/** Whether a text is another one with pieces put into it. */
function isWithin(text: string, made: string): boolean {
  let at = 0;
  for (const char of made) if (at < text.length && text.startsWith(char, at)) at += char.length;
  return at === text.length;
}
