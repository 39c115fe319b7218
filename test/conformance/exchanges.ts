import type { Instructions } from '../support/provider-simulator/faults.ts';
import { dataOf } from './event-stream.ts';

/** The gateway's answers that OpenAI's schema describes. */
export type DocumentKind =
  | 'completion'
  | 'chunk'
  | 'model'
  | 'models'
  | 'embeddings'
  | 'moderations'
  | 'error';

/** A parsed body or event. A schema checks its content, and `assemble` reads it. */
export type Document = Record<string, unknown>;

/** A gateway in front of the provider simulator, and what can be named there. */
export interface Target {
  /** Without `/v1`. */
  url: string;
  key: string;
  models: readonly [string, ...string[]];
  agent: string;
}

export interface Exchange {
  name: string;
  kind: DocumentKind;
  status: number;
  route: (target: Target) => string;
  /** Posted as JSON; without one the request is a GET. */
  body?: (target: Target) => Record<string, unknown>;
  /** The members that an answer must have to be an example of its name. */
  shows: object;
}

export interface Answered {
  response: Response;
  text: string;
  /** One body, or the data of every event but `[DONE]`. */
  documents: Document[];
}

/** Sends one request and reads its whole answer. */
export async function send(target: Target, { route, body }: Exchange): Promise<Answered> {
  const response = await fetch(`${target.url}${route(target)}`, {
    headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body(target)) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const documents = streamed ? dataOf(text).filter((data) => data !== '[DONE]') : [text];
  return { response, text, documents: documents.map((document) => JSON.parse(document) as Document) };
}

const tool = (name: string): object => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
});

const jsonSchema = {
  type: 'json_schema',
  json_schema: {
    name: 'answer',
    schema: {
      type: 'object',
      properties: { verdict: { type: 'string', enum: ['yes'] } },
      required: ['verdict'],
    },
  },
};

interface ChatCase {
  name: string;
  fields?: Record<string, unknown>;
  simulator?: Instructions;
  /** The members that `assemble` must find. */
  shows: object;
}

/** Each of these is asked for at once and as a stream. */
const chatCases: readonly ChatCase[] = [
  {
    name: 'plain text',
    simulator: { content: 'one two' },
    shows: { choices: [{ content: 'one two', finishReason: 'stop', refusals: [null] }] },
  },
  {
    name: 'two tool calls',
    fields: { tools: [tool('first'), tool('second')], tool_choice: 'required' },
    shows: { choices: [{ content: '', tools: ['first', 'second'], finishReason: 'tool_calls' }] },
  },
  {
    name: 'a call of the old functions',
    fields: { functions: [{ name: 'old', parameters: { type: 'object' } }], function_call: { name: 'old' } },
    shows: { choices: [{ content: '', finishReason: 'function_call' }] },
  },
  {
    name: 'a document of a JSON schema',
    fields: { response_format: jsonSchema },
    shows: { choices: [{ content: '{\n  "verdict": "yes"\n}' }] },
  },
  {
    name: 'log probabilities',
    fields: { logprobs: true, top_logprobs: 2 },
    simulator: { content: 'một hai' },
    shows: { choices: [{ tokens: ['một ', 'hai'] }] },
  },
  {
    name: 'two choices',
    fields: { n: 2 },
    simulator: { content: 'both' },
    shows: { choices: [{ content: 'both' }, { content: 'both' }] },
  },
  {
    name: 'an answer cut at its length',
    fields: { max_completion_tokens: 2 },
    shows: { choices: [{ content: 'This is ', finishReason: 'length' }] },
  },
  {
    name: 'cached and reasoning tokens',
    simulator: {
      usage: { prompt_tokens: 90, cached_tokens: 64, completion_tokens: 20, reasoning_tokens: 12 },
    },
    shows: {},
  },
];

const chatRoute = (): string => '/v1/chat/completions';

function chatBody(
  { fields, simulator }: ChatCase,
  more: Record<string, unknown> = {},
): NonNullable<Exchange['body']> {
  return ({ models }) => ({
    model: models[0],
    messages: [{ role: 'user', content: 'hello' }],
    ...fields,
    ...(simulator === undefined ? {} : { x_simulator: simulator }),
    ...more,
  });
}

const withUsage = { stream: true, stream_options: { include_usage: true } };

const chatExchanges: readonly Exchange[] = chatCases.flatMap((chat) => {
  const common = { status: 200, route: chatRoute, shows: chat.shows };
  return [
    { ...common, name: chat.name, kind: 'completion', body: chatBody(chat) },
    { ...common, name: `${chat.name}, streamed`, kind: 'chunk', body: chatBody(chat, { stream: true }) },
    { ...common, name: `${chat.name}, streamed with usage`, kind: 'chunk', body: chatBody(chat, withUsage) },
  ];
});

/** Streams whose usage chunk the gateway has to make itself, or that come in odd pieces. */
const oddStreams: readonly Exchange[] = (
  [
    ['a provider that reports no usage', { no_usage: true }],
    ['a provider that overlooks the wish for usage', { ignore_include_usage: true }],
    ['a provider that reports usage with the finish reason', { usage_in_last_choice_chunk: true }],
    ['a provider that sends comments and other line ends', { comments: true, crlf: true }],
    ['a provider that ends without [DONE]', { end_without_done: true }],
  ] as const
).map(([name, fault]) => {
  const chat = { name, simulator: { content: 'một hai', split_utf8: true, ...fault }, shows: {} };
  return {
    name: `a stream of ${name}`,
    kind: 'chunk',
    status: 200,
    route: chatRoute,
    body: chatBody(chat, withUsage),
    shows: { choices: [{ content: 'một hai', finishReason: 'stop' }] },
  };
});

const otherExchanges: readonly Exchange[] = [
  { name: 'the models', kind: 'models', status: 200, route: () => '/v1/models', shows: { object: 'list' } },
  {
    name: 'a model',
    kind: 'model',
    status: 200,
    route: ({ models }) => `/v1/models/${models.at(-1) ?? ''}`,
    shows: { object: 'model' },
  },
  {
    name: 'an agent as a model',
    kind: 'model',
    status: 200,
    route: ({ agent }) => `/v1/models/${agent}`,
    shows: { object: 'model', owned_by: 'tenant' },
  },
  {
    name: 'an agent’s answer',
    kind: 'completion',
    status: 200,
    route: chatRoute,
    body: ({ agent }) => ({ model: agent, messages: [{ role: 'user', content: 'hello' }] }),
    shows: { choices: [{ finishReason: 'stop' }] },
  },
  {
    name: 'embeddings',
    kind: 'embeddings',
    status: 200,
    route: () => '/v1/embeddings',
    body: ({ models }) => ({ model: models[0], input: ['one', 'two'], encoding_format: 'float' }),
    shows: { object: 'list' },
  },
  {
    name: 'moderations',
    kind: 'moderations',
    status: 200,
    route: () => '/v1/moderations',
    body: ({ models }) => ({ model: models[0], input: ['one', 'a text about violence'] }),
    shows: { results: [{ flagged: false }, { flagged: true }] },
  },
  {
    name: 'an error of ours',
    kind: 'error',
    status: 404,
    route: chatRoute,
    body: () => ({ model: 'nobody-has-this', messages: [{ role: 'user', content: 'hello' }] }),
    shows: { error: { code: 'model_not_found' } },
  },
  {
    name: 'an error of the provider’s',
    kind: 'error',
    status: 422,
    route: chatRoute,
    body: chatBody({ name: '', simulator: { status: 422, error: { message: 'No.' } }, shows: {} }),
    shows: { error: { message: 'No.' } },
  },
  {
    name: 'an error in the middle of a stream',
    kind: 'error',
    status: 200,
    route: chatRoute,
    body: chatBody({ name: '', simulator: { chunks: 4, cut: 'mid_stream' }, shows: {} }, { stream: true }),
    shows: { error: { code: 'provider_error' } },
  },
];

/** Every kind of body and event that the gateway sends to OpenAI's clients. */
export const exchanges: readonly Exchange[] = [...chatExchanges, ...oddStreams, ...otherExchanges];
