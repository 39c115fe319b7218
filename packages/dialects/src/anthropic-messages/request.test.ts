import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CompletionRequest, Rewrite } from '../dialect.ts';
import { readRequest } from './request.ts';

const plain: Rewrite = {
  ...{ model: 'claude-upstream', includeUsage: true, systemPrompt: null, reference: null, defaults: {} },
  ...{ maxTokens: null, tools: null },
};
const usual = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };

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

describe('a request', () => {
  it.each([
    [{ ...usual, model: undefined }, 'missing_required_parameter', 'model'],
    [{ ...usual, model: 1 }, 'invalid_type', 'model'],
    [{ ...usual, messages: undefined }, 'missing_required_parameter', 'messages'],
    [{ ...usual, messages: [] }, 'invalid_value', 'messages'],
    [{ ...usual, messages: [{ content: 'x' }] }, 'missing_required_parameter', 'messages[0].role'],
    [{ ...usual, messages: [{ role: 'user' }] }, 'missing_required_parameter', 'messages[0].content'],
    [{ ...usual, messages: [{ role: 'user', content: 1 }] }, 'invalid_type', 'messages[0].content'],
    [{ ...usual, max_tokens: '1' }, 'invalid_type', 'max_tokens'],
    [{ ...usual, system: {} }, 'invalid_type', 'system'],
    [{ ...usual, Max_Tokens: 1 }, 'unknown_parameter', 'Max_Tokens'],
    [[], 'invalid_type', null],
  ])('%j is refused', (body, code, param) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code, param }));
  });

  it('is known by its amounts, texts, tools and session', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'x'.repeat(1_000) };
    const request = read({
      ...usual,
      stream: true,
      system: [{ type: 'text', text: 'the system' }],
      thinking: { type: 'enabled', budget_tokens: 50 },
      service_tier: 'standard_only',
      metadata: { user_id: '{"device_id":"d","session_id":"abc-1"}' },
      tools: [{ name: 'search', input_schema: { type: 'object' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source },
            { type: 'text', text: 'What is it?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'search', input: { q: 'gate' } }] },
        {
          role: 'user',
          content: [
            {
              ...{ type: 'tool_result', tool_use_id: 't' },
              content: [
                { type: 'text', text: 'a gate' },
                { type: 'document', source },
              ],
            },
          ],
        },
      ],
    });
    expect(request).toMatchObject({
      model: 'm',
      stream: true,
      wantsUsage: false,
      choices: 1,
      session: 'abc-1',
    });
    expect(request.toolNames).toEqual(['search']);
    expect(request.lastUserText()).toEqual({ index: 0, text: 'What is it?' });
    expect(request.thinking({}).budgets).toEqual([50]);
    expect(request.requestedAmounts({ max_tokens: 7 })).toEqual({
      compacts: false,
      ...{ choices: 1, maxTokens: 100, serviceTier: 'standard_only', classes: [] },
      attachments: { count: 2, bytes: 2_000 },
      feeTools: [],
    });
    const { beginning } = request.promptSample(['the prompt']);
    for (const text of ['the prompt', 'the system', 'What is it?', '{"q":"gate"}', 'a gate', '"search"'])
      expect(beginning).toContain(text);
    expect(beginning).not.toContain('xxxx');
  });

  it.each([
    ['user_9_account__session_1b-2', '1b-2'],
    ['somebody', null],
    [undefined, null],
    [{ toString: 1 }, null],
  ])('with the user id %j is of the session %j', (user_id, session) => {
    expect(read({ ...usual, metadata: { user_id } }).session).toBe(session);
  });

  it('has its limit from the agent where it has none', () => {
    const { max_tokens: _max, ...without } = usual;
    expect(read(without).requestedAmounts({ max_completion_tokens: 7 }).maxTokens).toBe(7);
    expect(read(without).requestedAmounts({}).maxTokens).toBeNull();
  });
});

describe('a request for the provider', () => {
  it('stays as it is byte for byte, but for the model', () => {
    const odd =
      '{ "a":1.0, "model" : "m","big":12345678901234567890,"x":"\\ud800",\n"messages":[{"role":"user","content":""}]}';
    expect(rewritten(odd, {})).toBe(odd.replace('"m"', '"claude-upstream"'));
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).map((name) => `x_${name}`),
          value,
        ),
        (others) => {
          const text = JSON.stringify({ ...others, ...usual }, null, 1);
          expect(rewritten(text, { model: 'm' })).toBe(text);
        },
      ),
    );
  });

  it.each([
    [undefined, 'Be kind.'],
    [null, 'Be kind.'],
    ['', 'Be kind.'],
    ['Be "short".', 'Be kind.\n\nBe "short".'],
    [[], [{ type: 'text', text: 'Be kind.' }]],
    [
      [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      [
        { type: 'text', text: 'Be kind.' },
        { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
      ],
    ],
  ])('has the prompt of an agent before the system text %j', (system, expected) => {
    expect(after({ ...usual, system }, { systemPrompt: 'Be kind.' })['system']).toEqual(expected);
  });

  it.each([
    [
      'hi "you"',
      [
        { type: 'text', text: 'REF' },
        { type: 'text', text: 'hi "you"' },
      ],
    ],
    [
      [
        { type: 'tool_result', tool_use_id: 't', content: 'r' },
        { type: 'text', text: 'and?' },
      ],
      [
        { type: 'tool_result', tool_use_id: 't', content: 'r' },
        { type: 'text', text: 'REF' },
        { type: 'text', text: 'and?' },
      ],
    ],
    [
      [{ text: 'x', type: 'text' }],
      [
        { type: 'text', text: 'REF' },
        { text: 'x', type: 'text' },
      ],
    ],
  ])('has the reference before the text of the message %j, and behind results', (content, expected) => {
    const messages = [...usual.messages, { role: 'assistant', content: 'a' }, { role: 'user', content }];
    const made = after({ ...usual, messages }, { reference: { index: 2, content: 'REF' } });
    expect(made['messages']).toEqual([...messages.slice(0, 2), { role: 'user', content: expected }]);
  });

  it('has the reference before a text whose type is written with escapes', () => {
    const text = String.raw`{"model":"m","messages":[{"role":"user","content":[{"type":"te\u0078t","text":"x"}]}]}`;
    expect(rewritten(text, { reference: { index: 0, content: 'REF' } })).toContain(
      '[{"type":"text","text":"REF"},{',
    );
  });

  const thought = { type: 'thinking', thinking: 'x', signature: 's' };
  const call = { type: 'tool_use', id: 't', name: 'f', input: {} };
  const result = { type: 'tool_result', tool_use_id: 't', content: 'y' };
  const asker = { role: 'user', content: 'go' };

  it('goes to another vendor without its thoughts, and with nothing of a message of thoughts alone', () => {
    const messages = [
      asker,
      { role: 'assistant', content: [thought, { type: 'text', text: 'a' }] },
      asker,
      { role: 'assistant', content: [thought, { type: 'redacted_thinking', data: 'd' }] },
      asker,
    ];
    const thinking = { type: 'enabled', budget_tokens: 1_024 };
    const made = after({ ...usual, messages, thinking }, { keepsSignature: () => false });
    const text = { role: 'assistant', content: [{ type: 'text', text: 'a' }] };
    expect([made['messages'], made['thinking']]).toEqual([[asker, text, asker, asker], thinking]);
    expect(after({ ...usual, messages, thinking }, { keepsSignature: () => true })['messages']).toEqual(
      messages,
    );
  });

  it.each([
    [undefined, { type: 'adaptive' }, true],
    [{ type: 'adaptive', display: 'omitted' }, { type: 'adaptive', display: 'omitted' }, true],
    [{ type: 'disabled' }, { type: 'disabled' }, false],
    [{ type: 'adaptive', block_binding: {} }, { type: 'adaptive', block_binding: {} }, false],
  ])('lets thoughts of %j behind its changes be left out', (thinking, expected, isAdded) => {
    const messages = [asker, { role: 'assistant', content: [thought, { type: 'text', text: 'a' }] }, asker];
    const binding = isAdded && { block_binding: { prefix_mismatch_behavior: 'drop_block' } };
    const made = after({ ...usual, messages, thinking }, { bindsThinking: true, keepsSignature: () => true });
    expect(made['thinking']).toEqual({ ...expected, ...binding });
    expect(after({ ...usual, thinking }, { bindsThinking: true })['thinking']).toEqual(thinking);
  });

  it('asks another vendor not to think where the newest turn has calls without its thoughts', () => {
    const messages = [
      asker,
      { role: 'assistant', content: [thought, call] },
      { role: 'user', content: [result] },
    ];
    const thinking = { type: 'enabled', budget_tokens: 1_024 };
    const made = after({ ...usual, messages, thinking }, { keepsSignature: () => false });
    expect(made['messages']).toEqual([messages[0], { role: 'assistant', content: [call] }, messages[2]]);
    expect(made['thinking']).toEqual({ type: 'disabled' });
    const adaptive = { ...usual, messages, thinking: { type: 'adaptive' } };
    expect(after(adaptive, { keepsSignature: () => false })['thinking']).toEqual({ type: 'adaptive' });
  });

  it('goes to Claude without thoughts that lack a signature, as summaries of other vendors do', () => {
    const unsigned = [
      { type: 'thinking', thinking: 'x', signature: '' },
      { type: 'thinking', thinking: 'x' },
    ];
    const text = { type: 'text', text: 'a' };
    const messages = [
      asker,
      { role: 'assistant', content: [...unsigned, thought, text] },
      asker,
      { role: 'assistant', content: unsigned },
      asker,
    ];
    const made = after({ ...usual, messages }, { model: 'claude-opus-4-8' });
    expect(made['messages']).toEqual([
      ...[asker, { role: 'assistant', content: [thought, text] }, asker, asker],
    ]);
    for (const rewrite of [{ model: 'deepseek-reasoner' }, { model: 'claude-opus-4-8', isTranslated: true }])
      expect(after({ ...usual, messages }, rewrite)['messages']).toEqual(messages);
  });

  it('has tools of the gateway, and the conversation with them', () => {
    const tools = {
      definitions: Buffer.from('{"name":"own"}'),
      messages: ['{"role":"assistant","content":[]}', '{"role":"user","content":[]}'],
      choice: 'auto' as const,
    };
    const made = after({ ...usual, tools: [{ name: 'theirs' }], tool_choice: { type: 'any' } }, { tools });
    expect(made).toEqual({
      ...usual,
      tools: [{ name: 'theirs' }, { name: 'own' }],
      messages: [...usual.messages, { role: 'assistant', content: [] }, { role: 'user', content: [] }],
      tool_choice: { type: 'auto' },
    });
    const serial = { type: 'any', disable_parallel_tool_use: true };
    expect(after({ ...usual, tool_choice: serial }, { tools })['tool_choice']).toEqual({
      ...serial,
      type: 'auto',
    });
    expect(after(usual, { tools: { ...tools, messages: [], choice: null } })).toEqual({
      ...usual,
      tools: [{ name: 'own' }],
    });
  });

  it.each([
    [{}, { temperature: 0.5, stop: 'x', max_tokens: 5, n: 2 }, { temperature: 0.5, stop_sequences: ['x'] }],
    [{}, { temperature: 1.7, top_p: 0.1 }, { temperature: 1 }],
    [{}, { top_p: 0.1, seed: 1 }, { top_p: 0.1 }],
    [{ top_p: 0.9 }, { temperature: 0.5 }, { top_p: 0.9 }],
    [{ thinking: { type: 'adaptive' } }, { temperature: 0.5 }, { thinking: { type: 'adaptive' } }],
    [
      { thinking: { type: 'disabled' } },
      { temperature: 0.5 },
      { thinking: { type: 'disabled' }, temperature: 0.5 },
    ],
  ])('of %j has those parameters of the agent %j that Anthropic knows', (own, defaults, expected) => {
    expect(after({ ...usual, ...own }, { defaults })).toEqual({ ...usual, ...expected });
  });

  it.each([
    [{ max_tokens: 100 }, {}, 40],
    [{ max_tokens: 30 }, {}, 30],
    [{ max_tokens: 0 }, {}, 0],
    [{ max_tokens: undefined }, {}, 40],
    [{ max_tokens: undefined }, { max_tokens: 20 }, 20],
    [{ max_tokens: undefined }, { max_completion_tokens: 200 }, 40],
  ])('of %j and %j gets the limit that a budget holds', (own, defaults, expected) => {
    const maxTokens = { most: 40, field: 'max_tokens' } as const;
    expect(after({ ...usual, ...own }, { defaults, maxTokens })['max_tokens']).toBe(expected);
  });
});
