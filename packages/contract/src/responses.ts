import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/**
 * OpenAI's responses, for the documentation (https://platform.openai.com/docs/api-reference/responses). Requests are not
 * validated against these shapes: every field is passed on, and the provider decides which values are valid.
 */

const item = z
  .looseObject({
    type: z
      .string()
      .optional()
      .describe(
        '`message`, `reasoning`, `function_call`, `function_call_output`, `item_reference`, `compaction_trigger` and others',
      ),
    role: z.string().optional().describe('For type `message`: `user`, `assistant`, `developer`, `system`'),
  })
  .describe('A message, reasoning, a call of a tool or its result');

const responseUsage = z.looseObject({
  input_tokens: z.int().describe('With tokens read from the cache'),
  output_tokens: z.int().describe('With reasoning tokens'),
  total_tokens: z.int(),
});

export const responseRequest = z.looseObject({
  model: z
    .string()
    .min(1)
    .describe('A model from `GET /v1/models`, or `agent:` followed by the key or id of an agent'),
  input: z
    .union([z.string(), z.array(item).min(1)])
    .describe('A text of the user, or the conversation so far, oldest item first'),
  instructions: z.string().nullish().describe('Stand behind the prompt of an agent'),
  stream: z.boolean().nullish().describe('Stream the response as server-sent events'),
  max_output_tokens: z.int().nullish().describe('Maximum tokens of the response, reasoning included'),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.string().describe('`function`, `custom`, `namespace`, or one that the provider has itself'),
        name: z.string().optional(),
        description: z.string().nullish(),
        parameters: z.looseObject({}).nullish().describe('JSON Schema of the arguments'),
      }),
    )
    .nullish(),
  tool_choice: z.union([z.string(), z.looseObject({})]).nullish(),
  reasoning: z.looseObject({}).nullish(),
  text: z.looseObject({}).nullish(),
  include: z.array(z.string()).nullish(),
  store: z.boolean().nullish().describe('Whether Gatehouse stores the response; default true'),
  previous_response_id: z.string().nullish().describe('The stored response that the request continues'),
  prompt_cache_key: z.string().nullish().describe('Session id where no header names one'),
});

export const inputTokensRequest = responseRequest.omit({
  include: true,
  max_output_tokens: true,
  prompt_cache_key: true,
  store: true,
  stream: true,
  temperature: true,
  top_p: true,
});

export const compactRequest = responseRequest
  .pick({ model: true, instructions: true, previous_response_id: true, prompt_cache_key: true })
  .extend({
    input: responseRequest.shape.input
      .nullish()
      .describe('The conversation to compact; may be absent with `previous_response_id`'),
  });

export const compaction = z.looseObject({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: z.number(),
  output: z.array(item).describe('The messages of the user, and an item of the type `compaction`'),
  usage: responseUsage.nullish(),
});

export const inputTokens = z.looseObject({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int(),
});

export const response = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  model: z.string(),
  status: z.string().describe('`completed`, `incomplete`'),
  output: z.array(item),
  usage: responseUsage.nullish(),
});

const head = { id: 'resp_67ccd3a9da748190baa7f1570fe91ac6', object: 'response', created_at: 1_790_000_000 };
const model = 'gpt-5.4-nano';
const usage = {
  ...{ input_tokens: 12, input_tokens_details: { cached_tokens: 0 } },
  ...{ output_tokens: 8, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 },
};
const id = 'msg_67ccd3acc8d48190a77525dc6de64b4f';

const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const messageOf = (text: string) => ({
  ...{ id, type: 'message', role: 'assistant', status: 'completed' },
  content: [part(text)],
});
const answer = (text: string) => ({ ...head, status: 'completed', model, output: [messageOf(text)], usage });

const begun = { ...head, status: 'in_progress', model, output: [], usage: null };
const place = { item_id: id, output_index: 0, content_index: 0 };
const eventsExample = [
  { type: 'response.created', response: begun },
  { type: 'response.in_progress', response: begun },
  {
    ...{ type: 'response.output_item.added', output_index: 0 },
    item: { ...messageOf(''), status: 'in_progress', content: [] },
  },
  { type: 'response.content_part.added', ...place, part: part('') },
  { type: 'response.output_text.delta', ...place, delta: 'Hello!', logprobs: [] },
  { type: 'response.output_text.done', ...place, text: 'Hello!', logprobs: [] },
  { type: 'response.content_part.done', ...place, part: part('Hello!') },
  { type: 'response.output_item.done', output_index: 0, item: messageOf('Hello!') },
  { type: 'response.completed', response: answer('Hello!') },
]
  .map((event, sequence_number) => ({ ...event, sequence_number }))
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

const responsePath = { response_id: head.id };

export const inputItemsQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(512).optional().describe('The id of the item before the page'),
});
export type InputItemsQuery = z.output<typeof inputItemsQuery>;

export const deletedResponse = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
});

export const inputItems = z.object({
  object: z.literal('list'),
  data: z.array(item),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

const storedRoute = routesWith({
  dialects: ['responses'],
  service: 'chat',
  access: scope('chat'),
  actingUser: true,
});

/** Shared by routes with a request for a response as body. */
const requestRoute = routesWith({
  dialects: ['responses'],
  service: 'chat',
  access: scope('chat'),
  actingUser: true,
  passThrough: true,
  bodyLimit: 20 * MiB,
  query: z.looseObject({}),
});

export const routes: readonly Route[] = [
  requestRoute('responses.create', 'POST /v1/responses', {
    passedBody: responseRequest,
    response: { ...ok(response), events: true },
    summary: "A response, as OpenAI's Responses API has it",
    description: [
      "Passes the whole request to a provider that speaks OpenAI's Responses API, with the header `openai-beta`, including",
      'fields and tools that are not described here. An agent adds its prompt before `instructions`, and its parameters',
      'where the request has none. Requests for models of other APIs are translated; `x-gateway-ignored` names hints that',
      'were left out.',
      '',
      'Providers store nothing: Gatehouse stores a response, encrypted, unless `store` is false, for as long',
      'as the tenant keeps texts and 30 days at most. `previous_response_id` names one of the same user; any other returns',
      '400 `previous_response_not_found`. Items of the type `item_reference` stand for items of stored responses of the same',
      'user, and so do reasoning items without encrypted content; others are left out, and an input of nothing else returns',
      '400 `item_not_found`. `conversation`, `prompt` and `background: true` return 400 `unsupported_parameter`.',
      '',
      'With `stream: true` the response is a stream of events that ends with `response.completed` or',
      '`response.incomplete`. If the provider fails after the first item, the stream ends with the events `error` and',
      '`response.failed`. Errors 400, 413 and 422 of a provider keep their body.',
    ].join('\n'),
    examples: {
      question: {
        summary: 'One question',
        body: { model, instructions: 'Answer in one sentence.', input: 'What is a gatehouse?' },
        response: answer('A gatehouse is a building that guards an entrance.'),
      },
      stream: {
        summary: 'A stream',
        body: { model, input: 'Say hello.', stream: true },
        events: eventsExample,
      },
    },
  }),
  storedRoute('responses.get', 'GET /v1/responses/{response_id}', {
    query: z.looseObject({
      stream: z.string().max(8).optional().describe('`true` for the events of the response'),
      starting_after: z
        .string()
        .max(16)
        .optional()
        .describe('The number of the event before the first one, for a stream'),
    }),
    response: { ...ok(response), events: true },
    summary: 'Retrieve a stored response',
    description: 'Contains encrypted reasoning with `include[]=reasoning.encrypted_content`.',
    examples: {
      response: {
        summary: 'Retrieve a stored response',
        params: responsePath,
        response: answer('A gatehouse is a building that guards an entrance.'),
      },
    },
  }),
  storedRoute('responses.delete', 'DELETE /v1/responses/{response_id}', {
    query: z.looseObject({}),
    response: ok(deletedResponse),
    summary: 'Delete a stored response',
    description: 'Requests can no longer go on from it, or from one that went on from it.',
    examples: {
      response: {
        summary: 'A response is deleted',
        params: responsePath,
        response: { id: head.id, object: 'response', deleted: true },
      },
    },
  }),
  storedRoute('responses.cancel', 'POST /v1/responses/{response_id}/cancel', {
    query: z.looseObject({}),
    response: ok(response),
    summary: 'Cancel a response in the background',
    description: 'Returns 400: no response is made in the background.',
    examples: {
      cancelled: {
        summary: 'A response in the background is cancelled',
        params: responsePath,
        response: { ...begun, status: 'cancelled' },
      },
    },
  }),
  storedRoute('responses.input_items', 'GET /v1/responses/{response_id}/input_items', {
    query: inputItemsQuery,
    response: ok(inputItems),
    summary: 'List the input of a stored response',
    description: 'The items of its own request, without those of earlier responses.',
    examples: {
      items: {
        summary: 'One item',
        params: responsePath,
        response: {
          object: 'list',
          data: [{ id, type: 'message', role: 'user', content: 'What is a gatehouse?' }],
          ...{ first_id: id, last_id: id, has_more: false },
        },
      },
    },
  }),
  requestRoute('responses.compact', 'POST /v1/responses/compact', {
    passedBody: compactRequest,
    response: ok(compaction),
    summary: 'A conversation in short, for later requests',
    description: [
      "Calls a provider that speaks OpenAI's Responses API. A model of another API writes a summary of the conversation,",
      "which is encrypted in the item of the type `compaction`: it can go on with any model, and no other tenant's requests",
      'can use it. One that was changed returns 400 `invalid_encrypted_content`. The request is a run as any other, without',
      'the memory and the tools of an agent. `POST /v1/responses` compacts, too, with an item `compaction_trigger` at the',
      'end of its input.',
    ].join('\n'),
    examples: {
      conversation: {
        summary: 'A short conversation',
        body: {
          model,
          input: [
            { type: 'message', role: 'user', content: 'What is a gatehouse?' },
            { type: 'message', role: 'assistant', content: 'A building that guards an entrance.' },
          ],
        },
        response: {
          ...{ id: head.id, object: 'response.compaction', created_at: head.created_at },
          output: [
            {
              ...{ id, type: 'message', role: 'user', status: 'completed' },
              content: [{ type: 'input_text', text: 'What is a gatehouse?' }],
            },
            {
              id: 'cmp_67ccd3a9da748190baa7f1570fe91ac6',
              type: 'compaction',
              encrypted_content: 'gAAAAABo…',
            },
          ],
          usage,
        },
      },
    },
  }),
  requestRoute('responses.input_tokens', 'POST /v1/responses/input_tokens', {
    counts: true,
    passedBody: inputTokensRequest,
    response: ok(inputTokens),
    summary: "The tokens of a response's request, as OpenAI's Responses API counts them",
    description: [
      "Counts at a provider that speaks OpenAI's Responses API, with the prompt and the tools of an agent, but not what it",
      'remembers. For models of other APIs the number is an estimate, and the header `x-gateway-estimated` is `true`.',
      '',
      'Counting costs nothing, appears in neither traces nor usage, and counts towards no limit of requests. A key may',
      'count 600 times per minute, and a tenant 6,000 times.',
    ].join('\n'),
    examples: {
      question: {
        summary: 'One question',
        body: { model: 'gpt-4.1-mini', input: 'What is a gatehouse?' },
        response: { object: 'response.input_tokens', input_tokens: 11 },
      },
    },
  }),
];
