import { describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import fc from 'fast-check';
import { maxWalkedBytes } from '../../bounds.ts';
import { fieldsAt, nameOf } from './hosted-fields.ts';
import { allBetas, betasIn, hostedMessages, type HostBetas } from './hosted-messages.ts';

const taken = ['one', 'two', 'context-management-2025-06-27', 'effort-2025-11-24'];
/** A host that adds the beta of efforts alone. */
const betas: HostBetas = {
  nameOf: (beta) => (taken.includes(beta) ? beta : null),
  isKnown: (beta) => beta === 'effort-2025-11-24',
};

interface Asked {
  betas?: string;
  rulesName?: string;
  refused?: readonly string[];
  defaults?: Record<string, string>;
  host?: HostBetas;
}

function fitted(
  text: string,
  {
    betas: header = '',
    rulesName = 'claude-sonnet-4-5',
    refused = [],
    defaults = {},
    host: hosted = betas,
  }: Asked = {},
): [text: string, dropped: readonly string[]] {
  const call = { headers: { 'anthropic-beta': header }, rulesName, refused: new Set(refused) };
  const host = { version: 'host-1', betas: hosted, withoutNames: ['model', 'stream'], defaults };
  const made = hostedMessages(Buffer.from(text), call, host);
  if (made instanceof AppError) throw made;
  return [made.body.toString(), made.dropped];
}
const edited = (text: string, asked?: Asked): string => fitted(text, asked)[0];
/** The request without its version, and what is named as left out. */
function cut(request: object, asked?: Asked): [Record<string, unknown>, readonly string[]] {
  const whole = { max_tokens: 1, ...request };
  const [text, dropped] = fitted(JSON.stringify(whole), asked);
  const { anthropic_version: _version, ...fields } = JSON.parse(text) as Record<string, unknown>;
  if (!Object.hasOwn(request, 'max_tokens')) delete fields['max_tokens'];
  return [fields, dropped];
}

describe('a request for another host of Anthropic’s models', () => {
  it('keeps its bytes but for what the host has elsewhere', () => {
    expect(
      edited('{ "model":"m" ,"stream": true,\n "max_tokens": 1e2, "x":9007199254740993,"u":"\\ud800" }'),
    ).toBe('{ "max_tokens": 1e2, "x":9007199254740993,"u":"\\ud800","anthropic_version":"host-1" }');
  });

  it('is the same JSON wherever those members stand, and however often', () => {
    const name = fc.constantFrom<string>('model', 'stream', 'anthropic_version', 'a', 'b');
    const space = fc.constantFrom('', ' ', '\n');
    const member = fc.tuple(name, fc.jsonValue(), space);
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), fc.nat(8), fc.boolean(), (others, place, hasBeta) => {
        const members = others.toSpliced(place, 0, ['messages', [], ' ']);
        const text = `{${members.map(([key, value, gap]) => `${gap}${JSON.stringify(key)}${gap}:${JSON.stringify(value)}${gap}`).join(',')}}`;
        const { model: _model, stream: _stream, ...kept } = JSON.parse(text) as Record<string, unknown>;
        expect(JSON.parse(edited(text, hasBeta ? { betas: 'one,two' } : {}))).toEqual({
          ...kept,
          anthropic_version: 'host-1',
          ...(hasBeta && { anthropic_beta: ['one', 'two'] }),
        });
      }),
    );
  });

  it('has the betas of its header and its body, as far as the host takes them, and defaults', () => {
    expect(cut({ anthropic_beta: ['TWO', 7, 'new'], a: 1 }, { betas: ' one,,two, other' })).toEqual([
      { a: 1, anthropic_beta: ['one', 'two'] },
      ['anthropic-beta.other', 'anthropic-beta.new'],
    ]);
    expect(cut({ anthropic_beta: 'odd' })).toEqual([{}, []]);
    expect(cut({ a: 1, max_tokens: 5 }, { defaults: { max_tokens: '1' } })[0]).toEqual({
      a: 1,
      max_tokens: 5,
    });
    expect(JSON.parse(edited('{"a":1}', { defaults: { max_tokens: '1' } }))).toMatchObject({ max_tokens: 1 });
    expect(cut({ a: 1 }, { betas: 'one,two', refused: ['two'] })).toEqual([
      { a: 1, anthropic_beta: ['one'] },
      ['anthropic-beta.two'],
    ]);
    expect(cut({ a: 1 }, { betas: 'one', refused: [allBetas] })).toEqual([{ a: 1 }, ['anthropic-beta.one']]);
    expect(betasIn({})).toEqual([]);
  });
});

describe('a hint without its beta', () => {
  const edits = [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }];
  const scoped = { type: 'ephemeral', scope: 'global' };
  const ephemeral = { type: 'ephemeral' };

  it('stays with it', () => {
    const request = { context_management: { edits: edits.slice(0, 1) }, max_tokens: 1 };
    const asked = { betas: 'context-management-2025-06-27' };
    expect(cut(request, asked)).toEqual([{ ...request, anthropic_beta: [asked.betas] }, []]);
  });

  it('is left out and named', () => {
    const block = { type: 'text', text: 'x', cache_control: scoped };
    const request = {
      ...{ context_management: { edits }, speed: 'fast', safeguards: [{ type: 'x' }], max_tokens: 1 },
      thinking: { type: 'adaptive', display: 'updates' },
      tools: [
        {
          name: 'a',
          defer_loading: true,
          input_examples: [{}],
          eager_input_streaming: true,
          allowed_callers: [],
        },
        { name: 'b', cache_control: scoped },
      ],
      system: [block],
      messages: [
        {
          role: 'user',
          content: [block, { type: 'tool_result', tool_use_id: 't', content: [block] }],
          output_config: {},
        },
        { role: 'user', content: 'scope' },
      ],
      output_config: { effort: 'high', format: { type: 'json_schema' } },
    };
    const plain = { ...block, cache_control: ephemeral };
    const [left, dropped] = cut(request, { refused: ['effort-2025-11-24'] });
    expect(left).toEqual({
      ...{ max_tokens: 1, thinking: { type: 'adaptive' } },
      tools: [{ name: 'a' }, { name: 'b', cache_control: ephemeral }],
      system: [plain],
      messages: [
        { role: 'user', content: [plain, { type: 'tool_result', tool_use_id: 't', content: [plain] }] },
        { role: 'user', content: 'scope' },
      ],
      output_config: { format: { type: 'json_schema' } },
    });
    expect([...dropped].sort()).toEqual([
      ...['cache_control.scope', 'context_management', 'messages.output_config', 'output_config.effort'],
      ...['safeguards', 'speed', 'thinking.display', 'tools.allowed_callers', 'tools.defer_loading'],
      ...['tools.eager_input_streaming', 'tools.input_examples'],
    ]);
  });

  it('takes an object of which nothing is left with it', () => {
    const asked = { refused: ['effort-2025-11-24'] };
    expect(cut({ output_config: { effort: 'low' }, a: 1 }, asked)[0]).toEqual({ a: 1 });
    expect(cut({ a: 1, output_config: { effort: 'low' } }, asked)[0]).toEqual({ a: 1 });
  });

  it('gets the beta where the host is known to take it, and none where the model needs none', () => {
    const request = { output_config: { effort: 'low' } };
    expect(cut(request)).toEqual([{ ...request, anthropic_beta: ['effort-2025-11-24'] }, []]);
    const general = { refused: ['effort-2025-11-24'], rulesName: 'claude-opus-4-6' };
    expect(cut(request, general)).toEqual([request, []]);
    expect(cut(request, { ...general, refused: ['output_config.effort'] })).toEqual([
      {},
      ['output_config.effort'],
    ]);
    // A name without a version is thought to take all.
    expect(
      cut(request, {
        ...general,
        rulesName: 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc',
      })[1],
    ).toEqual([]);
  });

  it('loses the edits of the context alone that need another beta', () => {
    const request = { context_management: { edits, other: 1 } };
    expect(cut(request, { betas: 'context-management-2025-06-27' })).toEqual([
      {
        context_management: { edits: edits.slice(0, 1), other: 1 },
        anthropic_beta: ['context-management-2025-06-27'],
      },
      ['context_management'],
    ]);
  });

  const many = <Element>(element: Element): Element[] => Array.from({ length: 400_000 }, () => element);
  it.each([
    ['tools', { tools: [{ defer_loading: true }, ...many({})] }],
    ['values', { system: [{ cache_control: scoped }, ...many(1)] }],
    ['members', { tools: [Object.assign({ defer_loading: true }, many(1))] }],
    ['bytes', { tools: [{ defer_loading: true, description: 'x'.repeat(maxWalkedBytes) }] }],
  ])('stays in a list of too many %s, while others are left out', (_, request) => {
    const list = JSON.stringify(request).slice(1, -1);
    const [text, dropped] = fitted(`{"max_tokens":1,"speed":"fast",${list}}`);
    expect(text === `{"max_tokens":1,${list},"anthropic_version":"host-1"}`).toBe(true);
    expect(dropped).toEqual(['speed']);
  });

  it('is left out of tools beside too many messages', () => {
    const messages = Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'x' }));
    const tools = [{ name: 'a', defer_loading: true, input_schema: { properties: { scope: {} } } }];
    const [left, dropped] = cut({ messages, tools });
    expect(left['tools']).toEqual([{ name: 'a', input_schema: { properties: { scope: {} } } }]);
    expect(dropped).toEqual(['tools.defer_loading']);
  });

  it('keeps other values of a field', () => {
    const request = { thinking: { type: 'adaptive', display: 'omitted' }, system: 'scope', messages: [] };
    expect(cut(request)).toEqual([request, []]);
  });

  it('leaves valid JSON with everything else, in any order', () => {
    const names = ['speed', 'safeguards', 'a', 'tools', 'output_config', 'thinking', 'stream'];
    const tool = fc.record(
      { name: fc.string(), defer_loading: fc.boolean(), input_examples: fc.jsonValue() },
      { noNullPrototype: true, requiredKeys: ['name'] },
    );
    const value = fc.oneof(
      fc.jsonValue(),
      fc.array(tool, { maxLength: 3 }),
      fc.constant({ effort: 'x', b: 1 }),
      fc.constant({ display: 'updates' }),
    );
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name }),
        (members) => {
          const request: Record<string, unknown> = { max_tokens: 1, ...Object.fromEntries(members) };
          const [left] = cut(request, { refused: ['effort-2025-11-24'] });
          expect(left).toMatchObject({ max_tokens: 1 });
          expect(left['a']).toEqual(request['a']);
          expect(JSON.stringify(left['tools'] ?? null)).not.toMatch(
            /"defer_loading":(?:true|false),"input_examples"/,
          );
          for (const name of ['speed', 'safeguards', 'stream']) expect(left).not.toHaveProperty(name);
        },
      ),
    );
  });
});

describe('a field that decides the meaning', () => {
  const tools = (...types: readonly string[]): object => ({
    tools: [{ name: 'a' }, ...types.map((type) => ({ type, name: 'b' }))],
  });

  it.each([
    ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://x' }] }],
    ['container', { container: 'c_1' }],
    ['container', { container: { skills: [] } }],
    ['tools[1].type', tools('code_execution_20250825')],
    ['tools[2].type', tools('bash_20250124', 'web_search_20250305')],
    ['tools[1].type', tools('web_fetch_20260209')],
    ['tools[1].type', tools('tool_search_tool_regex_20251119')],
    ['tools[1].type', tools('mcp_toolset')],
    ['tools[1].type', tools('advisor_20260301')],
  ])('is refused by %s', (param, request) => {
    expect(() => cut(request, { betas: 'mcp-client-2025-11-20,skills-2025-10-02' })).toThrow(
      expect.objectContaining({
        code: 'unsupported_parameter',
        param,
        message: expect.stringContaining(param),
      }),
    );
  });

  it('stays where the host takes it, with the beta for it', () => {
    const search = 'web-search-2025-03-05';
    const host: HostBetas = { nameOf: (beta) => beta, isKnown: (beta) => beta === search };
    const request = tools('web_search_20260209');
    expect(cut(request, { host })).toEqual([{ ...request, anthropic_beta: [search] }, []]);
  });

  it.each([
    { mcp_servers: [] },
    { container: null },
    tools('bash_20250124', 'memory_20250818', 'custom', 'computer_20251124'),
    { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use', name: 'web_search' }] }] },
  ])('is none: %j', (request) => {
    expect(cut(request)).toEqual([request, []]);
  });
});

describe('the fields that words of an error mean', () => {
  it.each([
    ['output_config.effort', ['output_config.effort']],
    ['tools.0.custom.eager_input_streaming', ['tools.eager_input_streaming']],
    ['context_management', ['context_management']],
    ['messages.3.content.0.text.cache_control.ephemeral.scope', ['cache_control.scope']],
    ['thinking.adaptive.display', ['thinking.display']],
    ['thinking.adaptive.block_binding.prefix_mismatch_behavior', ['thinking.block_binding']],
    ['tools.0.custom.strict', []],
    ['mcp_servers', []],
  ])('%s', (place, expected) => {
    expect([...new Set(fieldsAt(place).map(nameOf))]).toEqual(expected);
  });
});
