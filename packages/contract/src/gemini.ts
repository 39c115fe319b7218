import { z } from 'zod';
import { MiB, ok, routesWith, scope, type Route } from './route.ts';

/**
 * Google's Gemini API, for the documentation (https://ai.google.dev/api/generate-content). Requests are not validated
 * against these shapes: every field is passed on, and the provider decides which values are valid. Field names may also
 * be written in snake_case.
 */

const part = z
  .looseObject({
    text: z.string().optional(),
    thought: z.boolean().optional().describe('Whether the text is a summary of reasoning'),
    thoughtSignature: z.string().optional().describe('Send the part back as it is'),
    functionCall: z.looseObject({ name: z.string(), args: z.looseObject({}).optional() }).optional(),
    functionResponse: z.looseObject({ name: z.string(), response: z.looseObject({}).optional() }).optional(),
  })
  .describe('One of `text`, `inlineData`, `fileData`, `functionCall`, `functionResponse` and others');

const content = z.looseObject({
  role: z.string().optional().describe('`user`, `model`'),
  parts: z.array(part).optional(),
});

export const generateContentRequest = z.looseObject({
  contents: z.array(content).min(1).describe('The conversation so far, oldest message first'),
  systemInstruction: content.nullish(),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z
          .array(
            z.looseObject({
              name: z.string(),
              description: z.string().optional(),
              parametersJsonSchema: z.looseObject({}).optional().describe('JSON Schema of the arguments'),
            }),
          )
          .optional(),
      }),
    )
    .nullish(),
  toolConfig: z
    .looseObject({
      functionCallingConfig: z
        .looseObject({ mode: z.string().optional().describe('`AUTO`, `ANY`, `NONE`, `VALIDATED`') })
        .optional(),
    })
    .nullish(),
  generationConfig: z
    .looseObject({
      maxOutputTokens: z.int().optional(),
      temperature: z.number().optional(),
      topP: z.number().optional(),
      topK: z.number().optional(),
      candidateCount: z.int().optional(),
      stopSequences: z.array(z.string()).optional(),
      thinkingConfig: z.looseObject({ thinkingBudget: z.int().optional() }).optional(),
    })
    .nullish(),
  safetySettings: z.array(z.looseObject({})).nullish(),
});

const response = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        content: content.optional(),
        finishReason: z.string().optional().describe('`STOP`, `MAX_TOKENS`, `SAFETY` and others'),
        index: z.int().optional(),
      }),
    )
    .optional()
    .describe('Absent if the prompt was blocked'),
  promptFeedback: z.looseObject({ blockReason: z.string().optional() }).optional(),
  usageMetadata: z
    .looseObject({
      promptTokenCount: z.int().optional(),
      candidatesTokenCount: z.int().optional().describe('Without reasoning'),
      thoughtsTokenCount: z.int().optional(),
      cachedContentTokenCount: z.int().optional(),
      totalTokenCount: z.int().optional(),
    })
    .optional(),
  modelVersion: z.string().optional(),
  responseId: z.string().optional(),
});

/** In one piece, or the pieces of a stream as an array. */
export const generateContentResponse = response;
export const generateContentResponses = z.array(response);

export const countTokensRequest = z.looseObject({
  contents: generateContentRequest.shape.contents.optional(),
  generateContentRequest: generateContentRequest
    .optional()
    .describe('A whole request, in place of `contents`; its model is that of the path'),
});
export const countTokensResponse = z.looseObject({ totalTokens: z.int() });

const embedding = z.looseObject({ values: z.array(z.number()) });
const embeddingUsage = z.looseObject({ promptTokenCount: z.int().optional() }).optional();

export const embedContentRequest = z.looseObject({
  model: z.string().optional().describe('The model in the path counts'),
  content: content.describe('The texts of all `parts` have one vector'),
  taskType: z.string().optional().describe('`RETRIEVAL_QUERY`, `RETRIEVAL_DOCUMENT` and others'),
  title: z.string().optional(),
  outputDimensionality: z.int().optional(),
});

export const batchEmbedContentsRequest = z.looseObject({
  requests: z.array(embedContentRequest).min(1).max(2_048),
});

export const embedContentResponse = z.looseObject({ embedding, usageMetadata: embeddingUsage });
export const batchEmbedContentsResponse = z.looseObject({
  embeddings: z.array(embedding),
  usageMetadata: embeddingUsage,
});

const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };

const answer = (text: string, last = true) => ({
  candidates: [
    { content: { parts: [{ text }], role: 'model' }, ...(last && { finishReason: 'STOP' }), index: 0 },
  ],
  usageMetadata,
  modelVersion: 'gemini-3.8-flash',
});

const pieces = [answer('Hel', false), answer('lo!')];

const body = {
  contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }],
  generationConfig: { maxOutputTokens: 100 },
};

const params = { id: 'gemini-3.8-flash' };

const route = routesWith({
  dialects: ['gemini'],
  service: 'chat',
  access: scope('chat'),
  actingUser: true,
  passThrough: true,
  bodyLimit: 20 * MiB,
  passedBody: generateContentRequest,
});

const query = z.looseObject({});

const streamQuery = z.looseObject({
  alt: z
    .string()
    .max(256)
    .optional()
    .describe('`sse` for server-sent events; otherwise the response is a JSON array that grows'),
});

const passing = [
  "Passes the whole request to a provider that speaks Google's Gemini API, including fields that are not described",
  'here. The API key may also stand in `x-goog-api-key` or in `?key=`. The id of a model may contain slashes and',
  'colons, plain or percent-encoded. An agent adds its system prompt before that of the request, and its parameters',
  'where the request has none. Errors 400, 413 and 422 of a provider keep their body. Requests for models of other APIs are',
  'translated; `x-gateway-ignored` names hints that were left out.',
].join('\n');

const streaming = [
  passing,
  '',
  'Each piece is a whole response; the last one has a `finishReason`. If the provider fails after the first piece, the',
  'last one is an error.',
].join('\n');

const one = {
  model: 'models/gemini-embedding-001',
  content: { parts: [{ text: 'gatehouse' }] },
  outputDimensionality: 3,
};
const another = { ...one, content: { parts: [{ text: 'portcullis' }] } };
const oneVector = { values: [0.12, -0.48, 0.86] };
const anotherVector = { values: [0.31, -0.52, 0.79] };

const embeddings = [
  "Passes the whole request to a provider that speaks Google's Gemini API. `model` in the body is replaced by the one in",
  'the path. Agents cannot create embeddings.',
].join('\n');

const counting = [
  "Counts at a provider that speaks Google's Gemini API, with the prompt and the tools of an agent, but not what it remembers.",
  'For models of other APIs the number is an estimate, and the header `x-gateway-estimated` is `true`.',
  '',
  'Counting costs nothing, appears in neither traces nor usage, and counts towards no limit of requests. A key may count',
  '600 times per minute, and a tenant 6,000 times.',
].join('\n');

function countingOf(version: string, prefix: string): Route {
  return route(`${prefix}.countTokens`, `POST /${version}/models/{id+}:countTokens`, {
    counts: true,
    query,
    passedBody: countTokensRequest,
    response: ok(countTokensResponse),
    summary: `The tokens of a request, as Google's API ${version} counts them`,
    description: counting,
    examples: {
      question: {
        summary: 'One question',
        ...{ params, body: { contents: body.contents } },
        response: { totalTokens: 7 },
      },
    },
  });
}

/** The methods for vectors under one version of the API. */
function embeddingsOf(version: string, prefix: string): Route[] {
  const params = { id: 'gemini-embedding-001' };
  return [
    route(`${prefix}.embedContent`, `POST /${version}/models/{id+}:embedContent`, {
      operation: 'embeddings',
      query,
      passedBody: embedContentRequest,
      response: ok(embedContentResponse),
      summary: `The embedding of a content, as Google's API ${version} has it`,
      description: embeddings,
      examples: { text: { summary: 'One text', params, body: one, response: { embedding: oneVector } } },
    }),
    route(`${prefix}.batchEmbedContents`, `POST /${version}/models/{id+}:batchEmbedContents`, {
      operation: 'embeddings',
      query,
      passedBody: batchEmbedContentsRequest,
      response: ok(batchEmbedContentsResponse),
      summary: `Embeddings of several contents, as Google's API ${version} has them`,
      description: embeddings,
      examples: {
        texts: {
          summary: 'Two texts',
          ...{ params, body: { requests: [one, another] } },
          response: { embeddings: [oneVector, anotherVector] },
        },
      },
    }),
  ];
}

/** The two methods for content under one version of the API. */
function methodsOf(version: string, prefix: string): Route[] {
  return [
    route(`${prefix}.generateContent`, `POST /${version}/models/{id+}:generateContent`, {
      query,
      response: ok(generateContentResponse),
      summary: `Content, as Google's API ${version} has it`,
      description: passing,
      examples: { question: { summary: 'One question', params, body, response: answer('Hello!') } },
    }),
    route(`${prefix}.streamGenerateContent`, `POST /${version}/models/{id+}:streamGenerateContent`, {
      query: streamQuery,
      response: { ...ok(generateContentResponses), events: true },
      summary: `Content as a stream, as Google's API ${version} has it`,
      description: streaming,
      examples: {
        array: { summary: 'As an array', params, body, response: pieces },
        events: {
          summary: 'As server-sent events',
          ...{ params, body, query: { alt: 'sse' } },
          events: pieces.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join(''),
        },
      },
    }),
  ];
}

export const routes: readonly Route[] = [
  ...[...methodsOf('v1beta', 'gemini'), ...embeddingsOf('v1beta', 'gemini'), countingOf('v1beta', 'gemini')],
  ...[...methodsOf('v1', 'gemini.v1'), ...embeddingsOf('v1', 'gemini.v1'), countingOf('v1', 'gemini.v1')],
];
