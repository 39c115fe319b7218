import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { ask, translator } from '../../../test/translating.ts';

const claude = { name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' };
const nova = { name: 'amazon.nova-pro-v1:0' };
const open = { type: 'object', properties: { score: { type: 'integer', minimum: 1 } }, required: ['score'] };
const subset = {
  ...{ type: 'object', properties: { score: { type: 'integer', description: '{minimum: 1}' } } },
  ...{ required: ['score'], additionalProperties: false },
};
const map = { type: 'object', additionalProperties: { type: 'string' } };

/** Requests with output by a schema, in each API. */
const requests: Record<DialectName, (schema: object) => Fields> = {
  chat: (schema) => ({
    messages: ask,
    response_format: { type: 'json_schema', json_schema: { name: 'review', strict: true, schema } },
  }),
  responses: (schema) => ({ input: ask, text: { format: { type: 'json_schema', name: 'review', schema } } }),
  messages: (schema) => ({
    ...{ max_tokens: 9, messages: ask },
    output_config: { format: { type: 'json_schema', schema } },
  }),
  gemini: (schema) => ({
    contents: [{ role: 'user', parts: [{ text: 'Go' }] }],
    generationConfig: { responseMimeType: 'application/json', responseSchema: schema },
  }),
};
const places: Record<DialectName, string> = {
  chat: 'response_format.json_schema.schema',
  responses: 'text.format.schema',
  messages: 'output_config.format.schema',
  gemini: 'generationConfig.responseSchema',
};
const clients = ['chat', 'responses', 'gemini'] as const;

function textFormat(body: Fields): unknown {
  const config = body['outputConfig'] as { textFormat: { structure: { jsonSchema: { schema: string } } } };
  return JSON.parse(config.textFormat.structure.jsonSchema.schema);
}

describe('output by a schema', () => {
  it.each(clients)('is in the subset of Anthropic for its models, from clients of %s', async (client) => {
    const { body, ignored } = await translator(client, 'messages')(requests[client](open));
    expect(body['output_config']).toEqual({ format: { type: 'json_schema', schema: subset } });
    expect(ignored).toContain(places[client]);
    const converse = await translator(client, 'converse')(requests[client](open), claude);
    expect(textFormat(converse.body)).toEqual(subset);
    expect(converse.ignored).toContain(places[client]);
  });

  it('is as it was for other models', async () => {
    const { body, ignored } = await translator('chat', 'converse')(requests.chat(open), nova);
    expect(textFormat(body)).toEqual(open);
    expect(ignored).toEqual([]);
    const chat = await translator('messages', 'chat')(requests.messages(open));
    expect(chat.body['response_format']).toMatchObject({ json_schema: { schema: open } });
  });

  it('is asked for in words where no form of it can hold an answer', async () => {
    const { body, ignored } = await translator(
      'chat',
      'messages',
    )({
      ...requests.chat(map),
      messages: [{ role: 'system', content: 'Be kind.' }, ...ask],
    });
    expect(body['output_config']).toBeUndefined();
    expect(body['system']).toEqual([
      { type: 'text', text: 'Be kind.' },
      { type: 'text', text: expect.stringContaining(JSON.stringify(map)) as unknown },
    ]);
    expect(ignored).toEqual(['response_format.json_schema.strict']);
  });

  it('is asked for in words of models without structured output, which get no strict tools', async () => {
    for (const name of ['claude-sonnet-4-20250514', 'anthropic.claude-3-5-sonnet-20240620-v1:0']) {
      const tools = [{ type: 'function', function: { name: 'f', strict: true, parameters: subset } }];
      const { text, ignored } = await translator('chat', 'messages')(
        { ...requests.chat(open), tools },
        { name },
      );
      expect(text).not.toMatch(/output_config|"strict"/);
      expect(text).toContain('JSON Schema');
      expect(ignored).toEqual(['response_format.json_schema.strict', 'tools.strict']);
    }
  });

  it('is asked for in words beyond the limits of properties and types', async () => {
    const properties = (count: number, type: unknown): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type }]));
    const asked = async (schema: object): Promise<unknown> =>
      (await translator('chat', 'messages')(requests.chat({ type: 'object', ...schema }))).body[
        'output_config'
      ];
    expect(await asked({ properties: properties(24, 'string') })).toBeDefined();
    expect(await asked({ properties: properties(25, 'string') })).toBeUndefined();
    const nullable = properties(17, ['string', 'null']);
    expect(await asked({ properties: nullable, required: Object.keys(nullable) })).toBeUndefined();
  });
});

describe('output by a schema that one side takes and the other does not', () => {
  const lists = { type: 'object', properties: { tags: { type: 'array' } }, required: ['tags'] };
  const gemini = (schema: object): Fields => requests.gemini(schema);

  it('has the items that OpenAI wants, and types in JSON Schema', async () => {
    const chat = await translator('messages', 'chat')(requests.messages(lists), { name: 'gpt-5' });
    expect(chat.body['response_format']).toMatchObject({
      json_schema: { schema: { ...lists, properties: { tags: { type: 'array', items: {} } } } },
    });
    expect(chat.ignored).toContain('output_config.format.schema');
    const upper = { type: 'OBJECT', properties: { a: { type: 'STRING' } } };
    const { body } = await translator('chat', 'messages')(requests.chat(upper));
    expect(body['output_config']).toEqual({
      format: {
        type: 'json_schema',
        schema: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
      },
    });
  });

  it.each(['chat', 'responses'] as const)(
    'is asked for in words of OpenAI by %s unless it is an object',
    async (target) => {
      const list = { type: 'ARRAY', items: { type: 'STRING' } };
      const { text, ignored } = await translator('gemini', target)(gemini(list), { name: 'gpt-5' });
      expect(text).not.toContain('json_schema');
      expect(text).toContain('JSON Schema');
      expect(ignored).toContain('generationConfig.responseSchema');
      const other = await translator('gemini', target)(gemini(list), { name: 'kimi-k2' });
      expect(other.text).toContain('json_schema');
      const object = await translator('gemini', target)(gemini(open), { name: 'gpt-5' });
      expect(object.text).toContain('json_schema');
    },
  );

  it('goes on without a known type as it is, but not to Claude', async () => {
    const odd = { type: 'object', properties: { a: { type: 'colour' } } };
    expect((await translator('chat', 'gemini')(requests.chat(odd))).text).toContain('"colour"');
    expect((await translator('chat', 'messages')(requests.chat(odd))).body['output_config']).toBeUndefined();
  });
});

describe('a strict tool', () => {
  const strict = (name: string, parameters?: object): object => ({
    type: 'function',
    function: { name, strict: true, ...(parameters && { parameters }) },
  });

  it.each(['messages', 'converse'] as const)('is in the subset of Anthropic for %s', async (target) => {
    const { text, ignored } = await translator('chat', target)(
      {
        messages: ask,
        tools: [strict('rate', open), strict('now'), strict('then', { type: 'object', properties: {} })],
      },
      claude,
    );
    expect(text).toContain(JSON.stringify(subset));
    expect(text.match(/"strict":true/g)).toHaveLength(3);
    expect(text.match(/"properties":\{\},"additionalProperties":false/g)).toHaveLength(2);
    expect(ignored).toEqual(['tools.parameters']);
  });

  it('is not strict where no form of its schema can hold a call, or one too many is strict', async () => {
    const any = await translator(
      'chat',
      'messages',
    )({ messages: ask, tools: [strict('put', { ...open, properties: { a: map } })] });
    expect(any.body['tools']).toEqual([{ name: 'put', input_schema: { ...open, properties: { a: map } } }]);
    expect(any.ignored).toEqual(['tools.strict']);
    const shut = { ...subset, properties: { score: { type: 'integer' } } };
    const many = await translator(
      'chat',
      'messages',
    )({
      messages: ask,
      tools: Array.from({ length: 22 }, (_, index) => strict(`t${index}`, shut)),
    });
    expect(many.text.match(/"strict":true/g)).toHaveLength(20);
    expect(many.ignored).toEqual(['tools.strict']);
  });
});

describe("a client's tool", () => {
  const list = { type: 'object', properties: { tags: { type: 'array' } } };

  it.each([
    ['messages', 'chat'],
    ['messages', 'responses'],
    ['messages', 'gemini'],
    ['chat', 'messages'],
    ['chat', 'converse'],
    ['responses', 'converse'],
    ['gemini', 'messages'],
  ] as const)('of %s has a schema that %s takes', async (client, target) => {
    const tools: Record<DialectName, object> = {
      chat: { tools: [{ type: 'function', function: { name: 'f', parameters: list } }] },
      responses: { tools: [{ type: 'function', name: 'f', parameters: list }] },
      messages: { tools: [{ name: 'f', input_schema: list }] },
      gemini: {
        tools: [
          {
            functionDeclarations: [
              { name: 'f', parameters: { type: 'OBJECT', properties: { tags: { type: 'ARRAY' } } } },
            ],
          },
        ],
      },
    };
    const request = { ...requests[client](subset), ...tools[client] };
    const { text, ignored } = await translator(client, target)(request, claude);
    expect(text).toContain('{"type":"object","properties":{"tags":{"type":"array","items":{}}}}');
    expect(
      ignored.some((name) =>
        /^tools\.(?:parameters|input_schema|functionDeclarations\.parameters)$/.test(name),
      ),
    ).toBe(true);
  });

  it('says in its description which arguments go together', async () => {
    const parameters = {
      type: 'object',
      properties: { a: {}, b: {} },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    };
    const { body } = await translator(
      'chat',
      'messages',
    )({
      messages: ask,
      tools: [{ type: 'function', function: { name: 'f', description: 'Does.', parameters } }],
    });
    expect(body['tools']).toEqual([
      {
        name: 'f',
        description:
          'Does.\n\nThe arguments match this JSON Schema: {"anyOf":[{"required":["a"]},{"required":["b"]}]}',
        input_schema: { type: 'object', properties: { a: {}, b: {} } },
      },
    ]);
  });

  it('is as the client wrote it on the way to its own API and from it, if it is sound', async () => {
    const schema = '{"type" : "object","properties":{"2":{"maximum":9007199254740993},"1":{}}}';
    const { text } = await translator(
      'messages',
      'chat',
    )(
      `{"max_tokens":9,"messages":[{"role":"user","content":"Go"}],"tools":[{"name":"f","input_schema":${schema}}]}`,
    );
    expect(text).toContain(`"parameters":${schema}`);
  });
});
