import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/**
 * Anthropic's messages, for the documentation (https://docs.claude.com/en/api/messages). Requests are not validated
 * against these shapes: every field is passed on, and the provider decides which values are valid.
 */

const block = z
  .looseObject({
    type: z
      .string()
      .describe('`text`, `image`, `document`, `thinking`, `redacted_thinking`, `tool_use`, `tool_result`'),
    text: z.string().optional().describe('For type `text`'),
  })
  .describe('A block of a content that is not only plain text');

const content = z.union([z.string(), z.array(block)]);

export const messageRequest = z.looseObject({
  model: z
    .string()
    .min(1)
    .describe('A model from `GET /v1/models`, or `agent:` followed by the key or id of an agent'),
  max_tokens: z.int().optional().describe('Tokens of the answer at most; required unless the agent has them'),
  messages: z
    .array(z.looseObject({ role: z.string().describe('`user`, `assistant`'), content }))
    .min(1)
    .describe('The conversation so far, oldest message first'),
  system: content.optional(),
  stream: z.boolean().nullish().describe('Stream the response as server-sent events'),
  stop_sequences: z.array(z.string()).nullish(),
  temperature: z.number().nullish().describe('0 to 1'),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  thinking: z
    .looseObject({
      type: z.string().describe('`enabled`, `adaptive`, `disabled`'),
      budget_tokens: z.int().optional(),
    })
    .nullish(),
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().optional(),
        input_schema: z.looseObject({}).optional().describe('JSON Schema of the arguments'),
      }),
    )
    .nullish(),
  tool_choice: z.looseObject({ type: z.string().describe('`auto`, `any`, `tool`, `none`') }).nullish(),
  metadata: z.looseObject({}).nullish(),
});

export const countRequest = messageRequest.omit({ max_tokens: true, stream: true });

export const tokenCount = z.looseObject({ input_tokens: z.int() });

export const message = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(block),
  stop_reason: z
    .string()
    .nullable()
    .describe('`end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, `refusal`, `pause_turn`'),
  stop_sequence: z.string().nullish(),
  usage: z.looseObject({
    input_tokens: z.int().describe('Without tokens read from the cache or written to it'),
    output_tokens: z.int(),
    cache_creation_input_tokens: z.int().nullish(),
    cache_read_input_tokens: z.int().nullish(),
  }),
});

const head = {
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5-5',
};

const usage = { input_tokens: 12, output_tokens: 8 };

const answer = (text: string) => ({
  ...head,
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
});

const eventsExample = [
  { type: 'message_start', message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

const route = routesWith({
  service: 'chat',
  access: scope('chat'),
  actingUser: true,
  dialects: ['messages'],
  passThrough: true,
});

export const routes: readonly Route[] = [
  route('messages.create', 'POST /v1/messages', {
    bodyLimit: 32 * MiB,
    passedBody: messageRequest,
    query: z.looseObject({}),
    response: { ...ok(message), events: true },
    summary: "A message, as Anthropic's API has it",
    description: [
      "Passes the whole request to a provider that speaks Anthropic's API, with the headers `anthropic-version` and",
      '`anthropic-beta`, including fields that are not described here. The API key may also stand in `x-api-key`.',
      'Requests for models of other APIs are translated; `x-gateway-ignored` names hints that were left out.',
      'An agent adds its system prompt before that of the request, and its parameters where the request has none.',
      '',
      'With `stream: true` the response is a stream of events that ends with `message_stop`. If the provider fails after',
      'the first event, the stream ends with an event `error`. Errors 400, 413 and 422 of a provider keep their body.',
    ].join('\n'),
    examples: {
      question: {
        summary: 'One question',
        body: {
          model: 'claude-sonnet-5-5',
          max_tokens: 100,
          system: 'Answer in one sentence.',
          messages: [{ role: 'user', content: 'What is a gatehouse?' }],
        },
        response: answer('A gatehouse is a building that guards an entrance.'),
      },
      stream: {
        summary: 'A stream',
        body: {
          model: 'claude-sonnet-5-5',
          max_tokens: 100,
          messages: [{ role: 'user', content: 'Say hello.' }],
          stream: true,
        },
        events: eventsExample,
      },
    },
  }),
  route('messages.count_tokens', 'POST /v1/messages/count_tokens', {
    counts: true,
    bodyLimit: 32 * MiB,
    passedBody: countRequest,
    query: z.looseObject({}),
    response: ok(tokenCount),
    summary: "The tokens of a message's request, as Anthropic's API counts them",
    description: [
      "Counts at a provider that speaks Anthropic's API, with the prompt and the tools of an agent, but not what it remembers.",
      'For models of other APIs the number is an estimate, and the header `x-gateway-estimated` is `true`.',
      '',
      'Counting costs nothing, appears in neither traces nor usage, and counts towards no limit of requests. A key may',
      'count 600 times per minute, and a tenant 6,000 times.',
    ].join('\n'),
    examples: {
      question: {
        summary: 'One question',
        body: {
          model: 'claude-sonnet-5-5',
          system: 'Answer in one sentence.',
          messages: [{ role: 'user', content: 'What is a gatehouse?' }],
        },
        response: { input_tokens: 20 },
      },
    },
  }),
];
