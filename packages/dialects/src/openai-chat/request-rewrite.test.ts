import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { objectMembers } from '../wire/json-members.ts';
import type { Rewrite } from '../dialect.ts';
import { limitNameAt } from '../request-additions.ts';
import { rewriteRequest } from './request-rewrite.ts';

const nothing: Rewrite = {
  model: 'upstream',
  includeUsage: false,
  systemPrompt: null,
  reference: null,
  defaults: {},
  maxTokens: null,
  tools: null,
};

/** JSON text as parsers see it, except that numbers keep their spelling. */
function read(text: string): Record<string, unknown> {
  const spelled = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' ? `number ${context?.source ?? ''}` : value;
  return JSON.parse(text.replace(/^\ufeff/, ''), spelled) as Record<string, unknown>;
}

const rewrite = (text: string, fields: Partial<Rewrite>): string =>
  rewriteRequest(Buffer.from(text), { ...nothing, ...fields }).toString();

interface Source {
  name: string;
  value: string;
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\r\n  ');
const scalar = fc.constantFrom(
  ...['12345678901234567890', '-0', '1.0', '0.10', '1E+5', '-1e-7', '3.141592653589793238462643', '0'],
  ...['true', 'false', 'null', '""', '"\\\\"', '"\\\\\\""', '"}{][,:"', '"a \\"model\\": \\"x\\" b"'],
  ...['"\\ud800"', '"\\u0000\\u2028"', '"größe 你好 🎉\u2028"', '"\\u006dodel"', '"{\\"messages\\":[]}"'],
);
const name = fc.oneof(
  fc.constantFrom(
    '"a"',
    '""',
    '"x\\"y"',
    '"\\\\"',
    '"include_usage"',
    '"temperature"',
    '"größe"',
    '"}"',
    '"tools"',
  ),
  fc.constantFrom('"model"', '"mod\\u0065l"', '"messages"', '"stream_options"', '"seed"'),
);
const { value: json } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, tie('array'), tie('object')),
  array: fc
    .tuple(space, fc.array(spaced(tie('value')), { maxLength: 4 }))
    .map(([pad, items]) => `[${pad}${items.join(',')}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(spaced(name), spaced(tie('value'))), { maxLength: 4 }))
    .map(([pad, members]) => `{${pad}${members.map((member) => member.join(':')).join(',')}}`),
}));

function spaced(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(space, text, space).map((parts) => parts.join(''));
}

const messages = fc
  .tuple(space, fc.array(spaced(json), { minLength: 1, maxLength: 3 }))
  .map(([pad, items]) => `[${pad}${items.join(',')}]`);

/** Members of a request: anything first, duplicates included, then those that make it one, which win as the last of their name. */
const request: fc.Arbitrary<Source[]> = fc
  .tuple(
    fc.array(fc.record({ name, value: json }), { maxLength: 5 }),
    fc.record({
      name: fc.constantFrom('"model"', '"\\u006dodel"'),
      value: fc.constantFrom('"small"', '"m\\u00f6del"', '""'),
    }),
    fc.record({ name: fc.constant('"messages"'), value: messages }),
    fc.array(fc.record({ name: fc.constantFrom('"stream_options"'), value: json }), { maxLength: 2 }),
    fc.boolean(),
  )
  .map(([any, model, list, options, swap]) => [
    ...any,
    ...(swap ? [list, model] : [model, list]),
    ...options,
  ]);

const layout = fc.array(space, { minLength: 40, maxLength: 40 });

/** The request's text, with space wherever JSON allows it. */
function textOf(members: readonly Source[], gaps: readonly string[], bom = ''): string {
  const gap = (index: number): string => gaps[index % gaps.length] ?? '';
  const parts = members.map(({ name, value }, at) =>
    [gap(4 * at), name, gap(4 * at + 1), ':', gap(4 * at + 2), value, gap(4 * at + 3)].join(''),
  );
  return `${bom}${gap(1)}{${parts.join(',')}}${gap(2)}`;
}

const nameOf = (source: Source): string => JSON.parse(source.name) as string;

describe('the members of an object', () => {
  it('are found where they are, whatever text lies between and inside', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ name, value: json }), { maxLength: 6 }), layout, (members, gaps) => {
        const text = Buffer.from(textOf(members, gaps));
        const found = objectMembers(text).map(({ name: found, start, valueStart, valueEnd }) => ({
          name: found,
          quoted: text.toString('utf8', start, start + 1),
          value: text.toString('utf8', valueStart, valueEnd),
        }));
        expect(found).toEqual(
          members.map((member) => ({ name: nameOf(member), quoted: '"', value: member.value })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('of an inner object are found from where it begins', () => {
    const text = Buffer.from('{"a":{"b":1},"c": {"d" : 2 }}');
    const [, second] = objectMembers(text);
    expect(objectMembers(text, { from: second?.valueStart ?? 0 }).map((member) => member.name)).toEqual([
      'd',
    ]);
  });

  it('are found in time that grows with the text', () => {
    const text = Buffer.from(
      `{"a":"${'\\\\'.repeat(1_000_000)}","b":${'['.repeat(500)}${']'.repeat(500)},"c":"${'\\"'.repeat(500_000)}"}`,
    );
    const began = performance.now();
    expect(objectMembers(text).map((member) => member.name)).toEqual(['a', 'b', 'c']);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

describe('a rewritten request', () => {
  it('has the provider’s model wherever it named one, and every other byte as it was', () => {
    fc.assert(
      fc.property(
        request,
        layout,
        fc.constantFrom('', '\ufeff'),
        fc.string(),
        (members, gaps, bom, model) => {
          const changed = members.map((member) =>
            nameOf(member) === 'model' ? { ...member, value: JSON.stringify(model) } : member,
          );
          expect(rewrite(textOf(members, gaps, bom), { model })).toBe(textOf(changed, gaps, bom));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('differs for a parser in exactly what was asked for', () => {
    const change = fc.record({
      defaults: fc.dictionary(
        fc.constantFrom('temperature', 'seed', 'a', 'größe', 'x"y', 'tools'),
        fc.jsonValue(),
      ),
      systemPrompt: fc.option(fc.string({ unit: 'binary' })),
      includeUsage: fc.boolean(),
      reference: fc.option(fc.record({ index: fc.nat(20), content: fc.string({ unit: 'binary' }) })),
    });
    fc.assert(
      fc.property(request, layout, change, (members, gaps, change) => {
        const text = textOf(members, gaps);
        const before = read(text);
        const sent = before['messages'] as unknown[];
        const { reference } = change;
        const asked = {
          ...change,
          reference:
            reference === null || sent.length === 0
              ? null
              : { ...reference, index: reference.index % sent.length },
        };
        const expected: Record<string, unknown> = {
          ...read(JSON.stringify(asked.defaults)),
          ...before,
          model: 'upstream',
        };
        const messages = [...sent];
        if (asked.reference !== null) {
          const { index, content } = asked.reference;
          messages.splice(index, 0, { role: 'user', content });
        }
        if (asked.systemPrompt !== null) messages.unshift({ role: 'system', content: asked.systemPrompt });
        expected['messages'] = messages;
        if (asked.includeUsage) {
          const options = before['stream_options'];
          const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
          expected['stream_options'] = { ...(isObject ? options : {}), include_usage: true };
        }
        expect(read(rewrite(text, asked))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['without any', '', '{"include_usage":true}'],
    ['with null', ',"stream_options":null', '{"include_usage":true}'],
    ['with {}', ',"stream_options":{}', '{"include_usage":true}'],
    ['with { }', ',"stream_options": { } ', '{"include_usage":true}'],
    ['with false', ',"stream_options":{"include_usage":false}', '{"include_usage":true}'],
    ['with null inside', ',"stream_options":{"include_usage": null }', '{"include_usage":true}'],
    [
      'with another option',
      ',"stream_options":{"x":{"include_usage":false}}',
      '{"x":{"include_usage":false},"include_usage":true}',
    ],
    ['with an escaped name', ',"stream_options":{"include\\u005fusage":false}', '{"include_usage":true}'],
    [
      'with the option twice',
      ',"stream_options":{"include_usage":true,"include_usage":false}',
      '{"include_usage":true}',
    ],
    [
      'with options twice',
      ',"stream_options":{"include_usage":true},"stream_options":{"y":[1]}',
      '{"y":[1],"include_usage":true}',
    ],
    ['with a list', ',"stream_options":[]', '{"include_usage":true}'],
  ])('asks for usage of a request %s', (_name, options, expected) => {
    const text = `{"model":"small","messages":[1]${options}}`;
    const rewritten = JSON.parse(rewrite(text, { includeUsage: true })) as Record<string, unknown>;
    expect(rewritten).toEqual({
      model: 'upstream',
      messages: [1],
      stream_options: JSON.parse(expected) as unknown,
    });
  });

  it('keeps what a parser would lose, to the letter', () => {
    const kept = [
      '"seed":-9223372036854775808123',
      '"temperature":1.0',
      '"top_p": 1E-1',
      '"stop":"\\ud83d \\u0000 \u2028"',
      '"messages":[{"role":"user","content":"\\ud800"}]',
      '"a":1,"a":2',
    ];
    const text = `{${kept.join(',')},"model":"small"}`;
    expect(rewrite(text, {})).toBe(text.replace('"small"', '"upstream"'));
    const more = rewrite(text, { systemPrompt: 'S', includeUsage: true, defaults: { n: 2 } });
    for (const piece of kept.filter((piece) => !piece.startsWith('"messages"')))
      expect(more).toContain(piece);
    expect(more).toContain('{"role":"system","content":"S"},{"role":"user","content":"\\ud800"}]');
  });

  it('stays JSON when messages are there twice, whichever a parser takes', () => {
    for (const first of ['[]', '[ \n ]', 'null', '7', '"text"', '{}', `[${' '.repeat(2_000)}]`]) {
      const text = `{"model":"small","messages":${first},"messages":[1]}`;
      expect(read(rewrite(text, { systemPrompt: 'S' }))['messages']).toEqual([
        { role: 'system', content: 'S' },
        'number 1',
      ]);
    }
  });

  it('puts a reference into the messages that a parser takes, when they are there twice', () => {
    const text = '{"messages":[],"model":"small","messages":[ {"role":"system"} ,\n{"role":"user"}]}';
    const rewritten = rewrite(text, { reference: { index: 1, content: 'R' }, systemPrompt: 'S' });
    expect(read(rewritten)['messages']).toEqual([
      { role: 'system', content: 'S' },
      { role: 'system' },
      { role: 'user', content: 'R' },
      { role: 'user' },
    ]);
    expect(rewritten).toContain(' {"role":"system"} ,\n');
  });

  it('takes an agent’s limit of tokens only where the client set none under either name', () => {
    const text = (fields: string): string => `{"model":"small","messages":[1]${fields}}`;
    const limited = (fields: string, defaults: Record<string, unknown>): unknown => {
      const {
        model: _model,
        messages: _messages,
        ...rest
      } = JSON.parse(rewrite(text(fields), { defaults })) as Record<string, unknown>;
      return rest;
    };
    expect(limited('', { max_tokens: 5 })).toEqual({ max_tokens: 5 });
    expect(limited(',"max_completion_tokens":9', { max_tokens: 5 })).toEqual({ max_completion_tokens: 9 });
    expect(limited(',"max_tokens":9', { max_completion_tokens: 5, n: 2 })).toEqual({ max_tokens: 9, n: 2 });
    expect(limited(',"temperature":null', { temperature: 1 })).toEqual({ temperature: null });
  });

  it('is the very same bytes where nothing changes but nothing was named', () => {
    const body = Buffer.from('{"messages":[1]}');
    expect(rewriteRequest(body, nothing).whole).toEqual(body);
  });
});

describe('tools of the gateway', () => {
  const tools = {
    definitions: Buffer.from('{"d":1},{"d":2}'),
    messages: ['{"m":1}'],
    choice: 'auto' as const,
  };

  it.each([
    ['[]', undefined, '[{"d":1},{"d":2}]'],
    ['[1]', '[ ]', '[ {"d":1},{"d":2}]'],
    ['[1 ]', 'null', '[{"d":1},{"d":2}]'],
    ['[{"a":[]}]', '[{"c":"]"} ]', '[{"c":"]"} ,{"d":1},{"d":2}]'],
  ])('are put behind the messages %s and the tools %s of the client', (messages, given, expected) => {
    const text = `{"messages":${messages},"model":"x"${given === undefined ? '' : `,"tools":${given}`}}`;
    const rewritten = rewrite(text, { tools });
    const asked = JSON.parse(rewritten) as { messages: unknown[]; tool_choice: string };
    expect(rewritten).toContain(`"tools":${expected}`);
    expect(asked.messages).toEqual([...(JSON.parse(messages) as unknown[]), { m: 1 }]);
    expect(asked.tool_choice).toBe('auto');
  });

  it('replace what the client chose, every time it is named', () => {
    const text = '{"tool_choice":"required","messages":[1],"model":"x","tool_choice":{"type":"function"}}';
    const rewritten = rewrite(text, { tools: { ...tools, choice: 'none' } });
    expect(rewritten.match(/"tool_choice":"none"/g)).toHaveLength(2);
    expect(rewrite(text, { tools: { ...tools, messages: [], choice: null } })).toContain('"required"');
  });
});

describe('the limit of an answer', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['{"model":"a","max_tokens":32000}', {}, '{"model":"upstream","max_tokens":5000}'],
    ['{"model":"a","max_completion_tokens":32000}', {}, '{"model":"upstream","max_completion_tokens":5000}'],
    ['{"model":"a","max_tokens":100}', {}, '{"model":"upstream","max_tokens":100}'],
    ['{"max_tokens":null,"model":"a"}', {}, '{"max_tokens":5000,"model":"upstream"}'],
    [
      '{"model":"a","max_tokens":null,"max_completion_tokens":32000}',
      {},
      '{"model":"upstream","max_tokens":null,"max_completion_tokens":5000}',
    ],
    [
      '{"model":"a","max_completion_tokens":null}',
      { max_tokens: 9_000 },
      '{"model":"upstream","max_completion_tokens":null,"max_tokens":5000}',
    ],
    ['{"max_tokens":-1,"model":"a"}', {}, '{"max_tokens":5000,"model":"upstream"}'],
    [
      '{"max_tokens":9e9,"max_tokens":7e9,"model":"a"}',
      {},
      '{"max_tokens":5000,"max_tokens":5000,"model":"upstream"}',
    ],
    ['{"model":"a"}', {}, '{"model":"upstream","max_tokens":5000}'],
    ['{"model":"a"}', { max_completion_tokens: 9_000 }, '{"model":"upstream","max_completion_tokens":5000}'],
    ['{"model":"a"}', { max_completion_tokens: 10 }, '{"model":"upstream","max_completion_tokens":10}'],
    [
      '{"model":"a","max_tokens":7000}',
      { max_completion_tokens: 9_000 },
      '{"model":"upstream","max_tokens":5000}',
    ],
  ])('of %s with the agent’s %j is lowered', (body, defaults, expected) => {
    const maxTokens = { most: 5_000, field: 'max_tokens' } as const;
    expect(rewrite(body, { defaults, maxTokens })).toBe(expected);
  });

  it.each([
    ['https://api.openai.com/v1', 'max_completion_tokens'],
    ['https://mine.openai.azure.com/openai/v1', 'max_completion_tokens'],
    ['https://api.mistral.ai/v1', 'max_tokens'],
    ['https://notopenai.com/v1', 'max_tokens'],
    ['http://127.0.0.1:8000/v1', 'max_tokens'],
  ])('has at %s the name %s', (url, expected) => {
    expect(limitNameAt(url)).toBe(expected);
  });
});
