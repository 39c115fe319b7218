import { z } from 'zod';

/**
 * What passes through `/v1/chat/completions` and `/v1/embeddings`, for the documentation. Nothing is held to these
 * shapes: every field of the OpenAI API passes, described here or not, and what a value means is the provider's to say.
 */

const modelName = z
  .string()
  .min(1)
  .describe('A model of `GET /v1/models`, or `agent:` and the key or id of an agent');

const contentPart = z
  .looseObject({
    type: z.string().describe('`text`, `image_url`, `input_audio`, `file`, `refusal`'),
    text: z.string().optional().describe('Of a part of type `text`'),
    image_url: z
      .looseObject({
        url: z.string().describe('A URL, or `data:` and the picture itself'),
        detail: z.string().optional(),
      })
      .optional(),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }).optional(),
    file: z.looseObject({}).optional(),
  })
  .describe('A piece of a message that has more than plain text');

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string().describe('JSON, as text') }),
});

const chatMessage = z.looseObject({
  role: z.string().describe('`developer`, `system`, `user`, `assistant`, `tool`'),
  content: z.union([z.string(), z.array(contentPart), z.null()]).optional(),
  name: z.string().optional(),
  tool_calls: z.array(toolCall).optional().describe('Calls that the assistant asked for'),
  tool_call_id: z.string().optional().describe('Of a message of role `tool`: the call it answers'),
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
  messages: z.array(chatMessage).min(1).describe('The whole conversation so far, oldest first'),
  stream: z.boolean().nullish().describe('Answer with server-sent events, as the text comes'),
  stream_options: z
    .looseObject({ include_usage: z.boolean().optional().describe('One last event with the tokens used') })
    .nullish(),
  temperature: z.number().nullish().describe('0 to 2; more varied above, more even below'),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish().describe('Older name of `max_completion_tokens`'),
  max_completion_tokens: z.int().nullish(),
  n: z.int().nullish().describe('How many answers'),
  stop: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe('Text at which to end'),
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
  tools: z.array(tool).nullish().describe('Functions that the model may ask for'),
  tool_choice: z
    .union([z.string(), z.looseObject({})])
    .nullish()
    .describe('`none`, `auto`, `required`, or one tool'),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning_effort: z.string().nullish(),
  audio: z.looseObject({}).nullish(),
  modalities: z.array(z.string()).nullish(),
  prediction: z.looseObject({}).nullish(),
  service_tier: z.string().nullish(),
  store: z.boolean().nullish(),
  functions: z.array(z.looseObject({})).nullish().describe('Older form of `tools`'),
  function_call: z
    .union([z.string(), z.looseObject({})])
    .nullish()
    .describe('Older form of `tool_choice`'),
  user: z.string().nullish().describe('Passed to the provider. The acting user is `X-Service-User-Id`'),
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
  created: z.int().describe('Seconds since 1970'),
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

/** The data of one event of a stream. */
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
  model: z.string().min(1).describe('A model for embeddings of `GET /v1/models`'),
  input: z
    .union([
      z.string().min(1),
      z.array(z.string()).min(1),
      z.array(z.int()).min(1),
      z.array(z.array(z.int())).min(1),
    ])
    .describe('One text or several, or their tokens'),
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
        .describe('Numbers, or base64 of 32-bit floats if asked for'),
    }),
  ),
  usage: tokenUsage,
});
