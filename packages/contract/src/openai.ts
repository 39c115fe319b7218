import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/**
 * Requests and responses of `/v1/chat/completions` and `/v1/embeddings`, for the documentation. They are not validated
 * against these shapes: every field of the OpenAI API is passed on, and the provider decides which values are valid.
 */

const modelName = z
  .string()
  .min(1)
  .describe('A model from `GET /v1/models`, or `agent:` followed by the key or id of an agent');

const contentPart = z
  .looseObject({
    type: z.string().describe('`text`, `image_url`, `input_audio`, `file`, `refusal`'),
    text: z.string().optional().describe('For type `text`'),
    image_url: z
      .looseObject({
        url: z.string().describe('A URL, or the image itself as a `data:` URL'),
        detail: z.string().optional(),
      })
      .optional(),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }).optional(),
    file: z.looseObject({}).optional(),
  })
  .describe('A part of a message that is not only plain text');

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string().describe('JSON, as text') }),
});

const chatMessage = z.looseObject({
  role: z.string().describe('`developer`, `system`, `user`, `assistant`, `tool`'),
  content: z.union([z.string(), z.array(contentPart), z.null()]).optional(),
  name: z.string().optional(),
  tool_calls: z.array(toolCall).optional().describe('Tool calls that the assistant requested'),
  tool_call_id: z.string().optional().describe('For role `tool`: the call that this message answers'),
});

const tool = z.looseObject({
  type: z.string(),
  function: z
    .looseObject({
      name: z.string(),
      description: z.string().optional(),
      parameters: z.looseObject({}).optional().describe('JSON Schema of the arguments'),
      strict: z.boolean().optional(),
    })
    .optional(),
});

export const chatCompletionRequest = z.looseObject({
  model: modelName,
  messages: z.array(chatMessage).min(1).describe('The conversation so far, oldest message first'),
  stream: z.boolean().nullish().describe('Stream the response as server-sent events'),
  stream_options: z
    .looseObject({ include_usage: z.boolean().optional().describe('Adds a last event with token usage') })
    .nullish(),
  temperature: z.number().nullish().describe('0 to 2; higher values give more varied output'),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish().describe('Deprecated name of `max_completion_tokens`'),
  max_completion_tokens: z.int().nullish(),
  n: z.int().min(1).max(128).nullish().describe('Number of choices to generate'),
  stop: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe('Texts that end the output'),
  seed: z.int().nullish(),
  frequency_penalty: z.number().nullish(),
  presence_penalty: z.number().nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().nullish(),
  response_format: z
    .looseObject({
      type: z.string().describe('`text`, `json_object`, `json_schema`'),
      json_schema: z.looseObject({}).optional(),
    })
    .nullish(),
  tools: z.array(tool).nullish().describe('Tools that the model may call'),
  tool_choice: z
    .union([z.string(), z.looseObject({})])
    .nullish()
    .describe('`none`, `auto`, `required` or one tool'),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning_effort: z.string().nullish(),
  audio: z.looseObject({}).nullish(),
  modalities: z.array(z.string()).nullish(),
  prediction: z.looseObject({}).nullish(),
  service_tier: z.string().nullish(),
  store: z.boolean().nullish(),
  functions: z.array(z.looseObject({})).nullish().describe('Deprecated form of `tools`'),
  function_call: z
    .union([z.string(), z.looseObject({})])
    .nullish()
    .describe('Deprecated form of `tool_choice`'),
  user: z
    .string()
    .nullish()
    .describe('Passed to the provider. To set the acting user, send `X-Service-User-Id`'),
  metadata: z.record(z.string(), z.string()).nullish(),
});

const tokenUsage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int().optional(),
  total_tokens: z.int(),
});

export const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int().describe('Unix time in seconds'),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({
        role: z.string(),
        content: z.string().nullable(),
        tool_calls: z.array(toolCall).optional(),
      }),
      finish_reason: z.string().describe('`stop`, `length`, `tool_calls`, `content_filter`'),
    }),
  ),
  usage: tokenUsage.optional(),
});

/** The data of one event in a stream. */
export const chatCompletionChunk = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      delta: z.looseObject({ role: z.string().optional(), content: z.string().nullable().optional() }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: tokenUsage.nullable().optional(),
});

export const embeddingsRequest = z.looseObject({
  model: z.string().min(1).describe('An embedding model from `GET /v1/models`'),
  input: z
    .union([
      z.string().min(1),
      z.array(z.string().min(1)).min(1),
      z.array(z.int().min(0)).min(1),
      z.array(z.array(z.int().min(0)).min(1)).min(1),
    ])
    .describe('One or several texts, or their tokens'),
  dimensions: z.int().nullish(),
  encoding_format: z.string().nullish().describe('`float` or `base64`'),
  user: z.string().nullish(),
});

export const embeddings = z.looseObject({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.looseObject({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe('Numbers; with `encoding_format` `base64`, 32-bit floats in base64'),
    }),
  ),
  usage: tokenUsage,
});

const usageExample = { prompt_tokens: 11, completion_tokens: 9, total_tokens: 20 };

const headExample = { id: 'chatcmpl-B9MBs8C', created: 1_768_000_000, model: 'gpt-4.1-mini' };

const answerExample = (content: string) => ({
  ...headExample,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: usageExample,
});

const eventExample = (delta: object, finish_reason: string | null = null) => ({
  ...headExample,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});

const streamExample = [
  eventExample({ role: 'assistant', content: '' }),
  eventExample({ content: 'Hello' }),
  eventExample({ content: '!' }),
  eventExample({}, 'stop'),
  { ...headExample, object: 'chat.completion.chunk', choices: [], usage: usageExample },
]
  .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  .join('');

const weatherExample = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather at a place now',
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  },
};

const route = routesWith({ service: 'chat', access: scope('chat'), actingUser: true, passThrough: true });

export const routes: readonly Route[] = [
  route('chat.completions', 'POST /v1/chat/completions', {
    bodyLimit: 20 * MiB,
    passedBody: chatCompletionRequest,
    query: z.looseObject({}),
    response: { ...ok(chatCompletion), events: true },
    summary: 'OpenAI-compatible chat completion',
    description: [
      'Passes the whole request of the OpenAI API to a provider, including fields that are not described here.',
      '`model` is a model from `GET /v1/models`, or `agent:` followed by the key or id of an agent. An agent adds its',
      'system prompt before the messages, and its parameters where the request has none.',
      '',
      'With `stream: true` the response is a stream of `chat.completion.chunk` objects as server-sent events, which ends',
      'with `data: [DONE]`. If the provider fails after the first event, the stream ends with an event that has an',
      '`error` object, without `[DONE]`. Errors 400, 404, 422 and 429 of a provider have the `code` of the provider, if',
      'it sends one.',
    ].join('\n'),
    examples: {
      question: {
        summary: 'One question',
        body: {
          model: 'gpt-4.1-mini',
          messages: [
            { role: 'system', content: 'Answer in one sentence.' },
            { role: 'user', content: 'What is a gatehouse?' },
          ],
          temperature: 0.2,
          max_tokens: 100,
        },
        response: answerExample('A gatehouse is a building that guards an entrance.'),
      },
      stream: {
        summary: 'A stream with usage at the end',
        body: {
          model: 'gpt-4.1-mini',
          messages: [{ role: 'user', content: 'Say hello.' }],
          stream: true,
          stream_options: { include_usage: true },
        },
        events: `${streamExample}data: [DONE]\n\n`,
      },
      agent: {
        summary: 'An agent by its key',
        body: { model: 'agent:assistant', messages: [{ role: 'user', content: 'Say hello.' }] },
        response: answerExample('Hello! What can I do for you?'),
      },
      parts: {
        summary: 'A text and an image',
        body: {
          model: 'gpt-4.1-mini',
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'What does this picture show?' },
                { type: 'image_url', image_url: { url: 'https://example.com/gate.png', detail: 'low' } },
              ],
            },
          ],
        },
        response: answerExample('A gate between two towers.'),
      },
      tools: {
        summary: 'A function that the model may call, and a response format',
        body: {
          model: 'gpt-4.1-mini',
          messages: [{ role: 'user', content: 'Is it raining in Lima?' }],
          tools: [weatherExample],
          tool_choice: 'auto',
          response_format: { type: 'json_object' },
        },
        response: {
          ...answerExample(''),
          choices: [
            {
              index: 0,
              message: {
                role: 'assistant',
                content: null,
                refusal: null,
                tool_calls: [
                  {
                    id: 'call_1',
                    type: 'function',
                    function: { name: 'weather', arguments: '{"place":"Lima"}' },
                  },
                ],
              },
              logprobs: null,
              finish_reason: 'tool_calls',
            },
          ],
        },
      },
    },
  }),
  route('embeddings.create', 'POST /v1/embeddings', {
    operation: 'embeddings',
    bodyLimit: 20 * MiB,
    passedBody: embeddingsRequest,
    query: z.looseObject({}),
    response: ok(embeddings),
    summary: 'OpenAI-compatible embeddings',
    description: [
      'Passes the whole request of the OpenAI API to a provider. Agents cannot create embeddings.',
      "A model of Google's API or of Amazon Bedrock gets the texts of `input` and `dimensions`; lists of tokens are not supported there.",
    ].join('\n'),
    examples: {
      texts: {
        summary: 'Two texts',
        body: {
          model: 'text-embedding-3-small',
          input: ['gatehouse', 'portcullis'],
          dimensions: 3,
          encoding_format: 'float',
        },
        response: {
          object: 'list',
          model: 'text-embedding-3-small',
          data: [
            { object: 'embedding', index: 0, embedding: [0.12, -0.48, 0.86] },
            { object: 'embedding', index: 1, embedding: [0.31, -0.52, 0.79] },
          ],
          usage: { prompt_tokens: 5, total_tokens: 5 },
        },
      },
    },
  }),
];
