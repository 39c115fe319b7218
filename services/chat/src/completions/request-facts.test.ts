import { expect, it } from '@jest/globals';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { AppError } from '@gatehouse/kit/errors';
import type { TextSample } from '@gatehouse/dialects/usage/token-estimate';
import fc from 'fast-check';
import { requestFacts } from './request-facts.ts';

const picture = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'x'.repeat(4_000) },
};
const requests = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'What is it?' }], n: 2, max_tokens: 9 },
  messages: {
    ...{ model: 'm', max_tokens: 9_000, system: 'Be short.', tools: [{ name: 'look', input_schema: {} }] },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    messages: [{ role: 'user', content: [{ type: 'text', text: '東 '.repeat(60_000) }, picture] }],
  },
  responses: { model: 'm', input: [{ role: 'user', content: 'Is it so?' }], store: false },
} as const;

it.each(Object.entries(requests))('of %s are those of the request', (api, fields) => {
  const body = Buffer.from(JSON.stringify(fields));
  const request = dialects[api as keyof typeof requests].readRequest('chat', body, fields);
  const defaults = { max_tokens: 50 };
  const target = { defaults, memory: { write: true } as never };
  const facts = requestFacts(request, { target, previewChars: 100 });
  expect(facts.requestedAmounts({})).toEqual(request.requestedAmounts(defaults));
  expect(facts.thinking({})).toEqual(request.thinking(defaults));
  expect(facts.choicesWith({})).toBe(request.choicesWith(defaults));
  expect(facts.inputPreview(100)).toBe(request.inputPreview(100));
  expect(facts.promptSample()).toEqual(request.promptSample());
  const added = ['You are an agent.', { beginning: 'tools', chars: 500 }];
  expect(facts.promptSample(added)).toEqual(request.promptSample(added));
  expect(facts.lastUserText()).toMatchObject({ index: request.lastUserText()?.index });
  expect(facts).toMatchObject({
    ...{ model: 'm', bytes: body.length, toolNames: request.toolNames, callIds: request.callIds },
  });
  const additions = { systemPrompt: 'x', toolNames: new Set<string>(), kept: null };
  expect(facts.viewWith?.(additions) ?? null).toEqual(request.viewWith?.(additions) ?? null);
});

it('have no text that the turn does not need', () => {
  const fields = requests.messages;
  const request = dialects.messages.readRequest('chat', Buffer.from(JSON.stringify(fields)), fields);
  const facts = requestFacts(request, { target: { defaults: {}, memory: null }, previewChars: 0 });
  expect(facts.inputPreview(10)).toBe('');
  expect(facts.lastUserText()).toBeNull();
});

it('sample the prompt again once an estimate needs it, and equally', () => {
  const fields = requests.chat;
  const body = Buffer.from(JSON.stringify(fields));
  const read = (): CompletionRequest => dialects.chat.readRequest('chat', body, fields);
  let reads = 0;
  const sampleOf = (): TextSample => ((reads += 1), read().promptSample());
  const facts = requestFacts(read(), { target: { defaults: {}, memory: null }, previewChars: 0, sampleOf });
  expect(reads).toBe(0);
  expect(facts.promptSample(['added'])).toEqual(read().promptSample(['added']));
  expect(reads).toBe(1);
});

const said = [{ role: 'user', content: 'Hi' }];
const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
const inPath = { model: 'm', stream: false };

/** Reads a request with these fields beside those it needs. */
const readers: Record<string, (fields: object) => CompletionRequest> = {
  chat: (fields) => dialects.chat.readRequest('chat', ...bodyOf({ model: 'm', messages: said, ...fields })),
  embeddings: (fields) =>
    dialects.chat.readRequest('embeddings', ...bodyOf({ model: 'm', input: 'Hi', ...fields })),
  messages: (fields) =>
    dialects.messages.readRequest(
      'chat',
      ...bodyOf({ model: 'm', max_tokens: 9, messages: said, ...fields }),
    ),
  responses: (fields) =>
    dialects.responses.readRequest('chat', ...bodyOf({ model: 'm', input: said, ...fields })),
  gemini: (fields) => dialects.gemini.readRequest('chat', ...bodyOf({ contents, ...fields }), inPath),
  'embeddings of gemini': (fields) =>
    dialects.gemini.readRequest('embeddings', ...bodyOf({ content: contents[0], ...fields }), inPath),
  'embeddings of gemini in a batch': (fields) =>
    dialects.gemini.readRequest(
      'embeddings',
      ...bodyOf({ requests: [{ content: contents[0] }], ...fields }),
      {
        ...{ ...inPath, isBatch: true },
      },
    ),
};

function bodyOf(fields: object): [Buffer, object] {
  return [Buffer.from(JSON.stringify(fields)), fields];
}

/** Values of any kind, with the names and words of all APIs. */
const { value: oddValue } = fc.letrec<{ value: unknown; message: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, 7, '', 'Hi', 'user', 'text', 'image', 'document', 'tool_use', 'thinking'),
    fc.constantFrom('function_call', 'reasoning', 'additional_tools', 'compaction', 'function', 'web_search'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('message'),
  ),
  message: fc.dictionary(
    fc.constantFrom(
      ...['role', 'content', 'type', 'text', 'name', 'id', 'audio', 'tool_calls', 'function_call', 'source'],
      ...['data', 'image_url', 'file', 'parts', 'functionCall', 'functionResponse', 'inlineData', 'summary'],
      ...['output', 'arguments', 'tools', 'function', 'functionDeclarations', 'encrypted_content', 'input'],
    ),
    tie('value'),
    { maxKeys: 4 },
  ),
}));
const oddFields = fc.dictionary(
  fc.constantFrom(
    ...[
      'messages',
      'input',
      'contents',
      'content',
      'requests',
      'system',
      'instructions',
      'tools',
      'thinking',
    ],
    ...[
      'systemInstruction',
      'functions',
      'metadata',
      'reasoning',
      'generationConfig',
      'modalities',
      'plugins',
    ],
    ...['web_search_options', 'search_parameters', 'output_config', 'tool_choice', 'include', 'n'],
  ),
  oddValue,
  { maxKeys: 5 },
);

it.each(Object.keys(readers))('of %s with odd fields are read, or the request is refused', (name) => {
  const target = { defaults: {}, memory: { write: true } as never };
  const facts = (fields: object): unknown => {
    const request = refusedOr(() => readers[name]?.(fields));
    if (request === null || request === undefined) return null;
    const { firstTexts, state } = request;
    return [requestFacts(request, { target, previewChars: 100 }), firstTexts, state];
  };
  for (const odd of [null, 7, 'x', [null], [7], [[null]], [{ content: [null], parts: [null] }]])
    for (const field of ['messages', 'input', 'contents', 'requests', 'tools', 'functions'])
      expect(() => facts({ [field]: odd })).not.toThrow();
  fc.assert(
    fc.property(oddFields, (fields) => void facts(fields)),
    { numRuns: 300 },
  );
});

/** Null for a request that its API refuses. */
function refusedOr<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}
