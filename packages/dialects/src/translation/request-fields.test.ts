import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { TranslatedApi } from './api.ts';
import { openAiChatTranslation } from '../openai-chat/translation.ts';
import { mendedConversation } from './mended-conversation.ts';
import { noSampling, type Conversation, type Tool } from './conversation.ts';
import { geminiTranslation } from '../gemini/translation.ts';
import { writeJson } from '../wire/json-text.ts';
import { DroppedFields } from './dropped-fields.ts';
import { anthropicMessagesTranslation } from '../anthropic-messages/translation.ts';
import { openAiResponsesTranslation } from '../openai-responses/translation.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { translator } from '../../test/translating.ts';

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const url = 'https://a.example/b.png';
const pdf = 'data:application/pdf;base64,JVBERi0=';

/** Requests with every kind of object that a client's API has. */
const requests: Readonly<Record<DialectName, Fields>> = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'S' }] },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url } },
          { type: 'file', file: { file_data: pdf, filename: 'a.pdf' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'r' }] },
    ],
    tools: [
      { type: 'function', function: { name: 'f', parameters: schema } },
      { type: 'custom', custom: { name: 'g', format: { type: 'text' } } },
      {
        type: 'custom',
        custom: { name: 'h', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'X' } } },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    reasoning: { max_tokens: 2_000 },
  },
  messages: {
    model: 'm',
    max_tokens: 100,
    system: [{ type: 'text', text: 'S' }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', source: { type: 'url', url } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' } },
          { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'd' }] } },
          { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'd' }] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 't', signature: 's' },
          { type: 'redacted_thinking', data: 'd' },
          { type: 'tool_use', id: 'a', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'r' }] }],
      },
    ],
    tools: [{ name: 'f', input_schema: schema }],
    tool_choice: { type: 'tool', name: 'f' },
    output_config: { effort: 'low', format: { type: 'json_schema', schema } },
    thinking: { type: 'adaptive' },
  },
  responses: {
    model: 'm',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: url },
          { type: 'input_file', file_data: pdf, filename: 'a.pdf' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' },
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
      },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'b', name: 'g', input: 'i' },
      { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'r' }] },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'r' },
      { type: 'additional_tools', tools: [{ type: 'function', name: 'h', parameters: schema }] },
    ],
    tools: [
      { type: 'function', name: 'f', parameters: schema },
      { type: 'custom', name: 'g', format: { type: 'text' } },
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', parameters: schema }] },
    ],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'json_schema', name: 'n', schema } },
    reasoning: { effort: 'low' },
  },
  gemini: {
    systemInstruction: { parts: [{ text: 'S' }] },
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'a' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { mimeType: 'image/png', fileUri: url } },
        ],
      },
      { role: 'model', parts: [{ text: 't', thought: true }, { functionCall: { name: 'f', args: {} } }] },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              name: 'f',
              response: {},
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
            },
          },
        ],
      },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      responseMimeType: 'application/json',
      responseJsonSchema: schema,
      thinkingConfig: { thinkingBudget: 2_000 },
    },
  },
};

/** Others, with objects that exclude those. */
const others: readonly (readonly [DialectName, Fields])[] = [
  [
    'chat',
    {
      ...requests.chat,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: [
            { type: 'function', function: { name: 'f' } },
            { type: 'custom', custom: { name: 'g' } },
          ],
        },
      },
    },
  ],
  [
    'responses',
    {
      ...requests.responses,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
  ],
];

/** Members whose objects are the client's own. */
const own = new Set(['parameters', 'input_schema', 'schema', 'input', 'args', 'response']);

/** The paths of all objects in a request. */
function placesIn(value: unknown, place: readonly string[] = []): string[][] {
  if (Array.isArray(value)) return value.flatMap((each, at) => placesIn(each, [...place, String(at)]));
  if (!isFields(value)) return [];
  const isOwn = (name: string, each: unknown): boolean =>
    name.endsWith('JsonSchema') || (own.has(name) && !Array.isArray(each));
  const inner = Object.entries(value).filter(([name, each]) => !isOwn(name, each));
  return [[...place], ...inner.flatMap(([name, each]) => placesIn(each, [...place, name]))];
}

/** A copy of a request with one member more. */
function withMember(request: Fields, place: readonly string[], name: string): Fields {
  const copy = structuredClone(request);
  let object = copy;
  for (const step of place) object = object[step] as Fields;
  object[name] = 1;
  return copy;
}

const apis: readonly (readonly [DialectName, TranslatedApi])[] = [
  ['chat', openAiChatTranslation],
  ['responses', openAiResponsesTranslation],
  ['messages', anthropicMessagesTranslation],
  ['gemini', geminiTranslation],
];

describe('no member of a request is left out in silence', () => {
  const all = [...apis.map(([from]) => [from, requests[from]] as const), ...others];
  const cases = all.flatMap(([from, request]) =>
    placesIn(request).map((place) => ({ from, at: place.join('.') || 'the request', place, request })),
  );

  it.each(cases)('$from: $at', async ({ from, place, request }) => {
    const translate = translator(from, from === 'chat' ? 'messages' : 'chat');
    const before = await translate(request);
    const name = 'x_new';
    const after = await translate(withMember(request, place, name)).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      return { ignored: [`refused ${String(error.param)}`] };
    });
    expect(after.ignored.filter((each) => !before.ignored.includes(each))).toEqual([
      expect.stringMatching(/(^|\.)x_new$/),
    ]);
  });
});

describe('no field of a conversation disappears', () => {
  const tool: Tool = {
    ...{ name: 'f', namespace: null, description: null, isFreeform: false, isStrict: null },
    schemaJson: JSON.stringify(schema),
  };
  const base: Conversation = {
    turns: [{ role: 'user', parts: [{ kind: 'text', text: 'Go' }] }],
    ...{ tools: [tool], choice: null, parallel: null, maxTokens: 1_000, stop: [], sampling: noSampling },
    ...{ output: null, reasoning: null, stream: false },
  };
  const sampling = (changed: Partial<Conversation['sampling']>): Partial<Conversation> => ({
    sampling: { ...noSampling, ...changed },
  });
  const output = { kind: 'schema', name: 'n', schemaJson: JSON.stringify(schema), isStrict: false } as const;
  const isOff = { isOn: false, effort: null, budget: null };
  const changes: readonly [string, Partial<Conversation>, Partial<Conversation>?][] = [
    ['choice none', { choice: 'none' }],
    ['choice required', { choice: 'required' }],
    ['choice of a tool', { choice: { name: 'f', namespace: null } }],
    ['one call at a time', { parallel: false }],
    ['fewer tokens', { maxTokens: 500 }],
    ['fewest tokens', { maxTokens: 1 }, { maxTokens: 16 }],
    ['stop', { stop: ['END'] }],
    ['temperature', sampling({ temperature: 0.5 })],
    ['high temperature', sampling({ temperature: 1.7 })],
    ['topP', sampling({ topP: 0.5 })],
    ['topK', sampling({ topK: 5 })],
    ['seed', sampling({ seed: 5 })],
    ['presencePenalty', sampling({ presencePenalty: 0.5 })],
    ['frequencyPenalty', sampling({ frequencyPenalty: 0.5 })],
    ['JSON', { output: { kind: 'json' } }],
    ['a schema', { output }],
    ['a strict schema', { output: { ...output, isStrict: true } }, { output }],
    ['a strict tool', { tools: [{ ...tool, isStrict: true }] }, { tools: [{ ...tool, isStrict: false }] }],
    ['no reasoning', { reasoning: isOff }],
    ['an effort', { reasoning: { ...isOff, isOn: true, effort: 'low' } }],
    ['a budget', { reasoning: { ...isOff, isOn: true, budget: 2_000 } }],
    ['a stream', { stream: true }],
  ];
  /** Anthropic keeps every answer to its schema, and the others have the stream in the path. */
  const kept = new Set(['a strict schema for messages', 'a strict schema for gemini', 'a stream for gemini']);
  /** By default it doesn't think, and beside tools it takes no word about it. */
  const ofDefault = new Set(['no reasoning for chat: gpt-5.4']);

  it.each(
    apis.flatMap(([to, api]) =>
      changes
        .filter(([name]) => !kept.has(`${name} for ${to}`))
        .map(([name, change, otherwise = {}]) => [name, to, api, [change, otherwise]] as const),
    ),
  )('%s for %s', (of, to, api, [change, otherwise]) => {
    const written = (changed: Partial<Conversation>, name: string): string => {
      const dropped = new DroppedFields(api.fieldNames);
      try {
        const model = { ...facts, name };
        const mended = atOnce(mendedConversation({ ...base, ...changed }, api.rules(model), dropped));
        const request = atOnce(api.writeRequest(mended, model, dropped));
        return `${writeJson(request)} ${dropped.ignored.join()}`;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return error.message;
      }
    };
    for (const name of ['gpt-5', 'gpt-5.4', 'o3', 'claude-opus-5', 'gemini-2.5-pro', 'gemini-3-pro'])
      expect(written(change, name) === written(otherwise, name)).toBe(
        ofDefault.has(`${of} for ${to}: ${name}`),
      );
  });
});

describe('values that mean nothing are refused, or named as left out', () => {
  const user = { role: 'user', content: 'Go' };
  const tools = [{ type: 'function', function: { name: 'f' } }];

  it.each<[DialectName, Fields, string]>([
    ['chat', { messages: [user], tools, tool_choice: 'any' }, 'tool_choice'],
    ['chat', { messages: [user], tools, tool_choice: { type: 'function' } }, 'tool_choice.function.name'],
    ['chat', { messages: [user], stop: [1] }, 'stop'],
    ['chat', { messages: [{ role: 'critic', content: 'x' }] }, 'messages[0].role'],
    ['messages', { messages: [user], tool_choice: { type: 'weird' } }, 'tool_choice.type'],
    ['messages', { messages: [{ role: 'weird', content: 'x' }] }, 'messages[0].role'],
    ['responses', { input: 'Go', tool_choice: 'weird' }, 'tool_choice'],
    ['responses', { input: [{ role: 'weird', content: 'x' }] }, 'input[0].role'],
    [
      'gemini',
      { contents: [{ parts: [{ text: 'a' }] }], toolConfig: { functionCallingConfig: { mode: 'WEIRD' } } },
      'toolConfig.functionCallingConfig.mode',
    ],
    [
      'gemini',
      { contents: [{ parts: [{ text: 'a' }] }], generationConfig: { responseMimeType: 'application/xml' } },
      'generationConfig.responseMimeType',
    ],
    ['gemini', { contents: [{ role: 'weird', parts: [{ text: 'a' }] }] }, 'contents[0].role'],
  ])('%s: %j', async (from, request, param) => {
    const translate = translator(from, from === 'chat' ? 'gemini' : 'chat');
    await expect(translate(request)).rejects.toMatchObject({ code: 'unsupported_parameter', param });
  });

  it.each<[DialectName, Fields, string]>([
    ['chat', { messages: [user], reasoning_effort: 'ultra' }, 'reasoning_effort'],
    ['responses', { input: 'Go', reasoning: { effort: 'ultra' } }, 'reasoning.effort'],
    ['messages', { messages: [user], output_config: { effort: 'ultra' } }, 'output_config.effort'],
    [
      'gemini',
      {
        contents: [{ parts: [{ text: 'a' }] }],
        toolConfig: { functionCallingConfig: { mode: 'VALIDATED' }, retrievalConfig: { languageCode: 'de' } },
      },
      'toolConfig.functionCallingConfig.mode',
    ],
    ['chat', { messages: [user], 'a b\r\nX-Evil: ü': 1 }, 'a%20b%0D%0AX-Evil%3A%20%C3%BC'],
    ['chat', { messages: [user], ['x'.repeat(200)]: 1 }, `${'x'.repeat(100)}...`],
    [
      'chat',
      { messages: [user], ...Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`u${at}`, 1])) },
      '...',
    ],
  ])('%s: %j is left out', async (from, request, name) => {
    const { ignored } = await translator(from, from === 'chat' ? 'gemini' : 'chat')(request);
    expect(ignored).toContain(name);
  });
});
