import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DialectName } from '@gatehouse/contract/dialects';
import { dialects } from '@gatehouse/dialects/dialects';
import { FrameReader } from '@gatehouse/dialects/text-view/frame-reader';
import type { TextRules } from '@gatehouse/dialects/text-view/text-rules';
import { TextView } from '@gatehouse/dialects/text-view/text-view';
import { isFields } from '@gatehouse/kit/fields';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { createGenerator, type Definition } from 'ts-json-schema-generator';

/** The declarations of a request in an official SDK: one type, or one for each member of the request, by its path. */
interface SdkRequest {
  sdk: string;
  file: string;
  types: string | Readonly<Record<string, string>>;
  /** Members of types that repeat the request. */
  without?: Readonly<Record<string, readonly string[]>>;
}

const requests: Record<DialectName, readonly SdkRequest[]> = {
  chat: [
    {
      sdk: 'openai',
      file: 'resources/chat/completions/completions.d.ts',
      types: 'ChatCompletionCreateParamsNonStreaming',
    },
  ],
  responses: [
    { sdk: 'openai', file: 'resources/responses/responses.d.ts', types: 'ResponseCreateParamsNonStreaming' },
  ],
  messages: [
    {
      sdk: '@anthropic-ai/sdk',
      file: 'resources/beta/messages/messages.d.ts',
      types: 'MessageCreateParamsNonStreaming',
    },
  ],
  gemini: [
    {
      sdk: '@google/genai',
      file: '../genai.d.ts',
      types: {
        'contents.parts': 'Part',
        tools: 'Tool',
        toolConfig: 'ToolConfig',
        generationConfig: 'GenerationConfig',
        safetySettings: 'SafetySetting',
      },
    },
  ],
};

/** No word of an API, no id and no base64. */
const sample = 'some text, for 17 people';

/**
 * Members of strings without texts, each for a reason: it identifies somebody or gives access, or has a picture, sound,
 * file or its address. A newer member of an SDK is here only once it was added by hand.
 */
const withoutText: Record<DialectName, readonly string[]> = {
  chat: [
    ...['messages[].audio.id', 'messages[].content[].file.file_data', 'messages[].content[].file.file_id'],
    ...['messages[].content[].image_url.url', 'messages[].content[].input_audio.data', 'metadata.other'],
    ...['prompt_cache_key', 'safety_identifier', 'user'],
  ],
  responses: [
    ...['input[].content[].file_data', 'input[].content[].file_id', 'input[].content[].file_url'],
    ...['input[].content[].image_url', 'input[].output.file_id', 'input[].output.image_url'],
    ...['input[].output[].file_data', 'input[].output[].file_id', 'input[].output[].file_url'],
    ...['input[].output[].image_url', 'input[].outputs[].url', 'input[].result'],
    ...['input[].tools[].authorization', 'input[].tools[].headers.other'],
    ...['input[].tools[].input_image_mask.file_id', 'input[].tools[].input_image_mask.image_url'],
    ...['metadata.other', 'prompt_cache_key', 'safety_identifier', 'user'],
  ],
  messages: [
    ...['mcp_servers[].authorization_token', 'mcp_servers[].url'],
    ...['messages[].content[].content.content[].file_id', 'messages[].content[].file_id'],
    ...['messages[].content[].source.data', 'messages[].content[].source.file_id'],
    ...['messages[].content[].source.url', 'metadata.user_id', 'user_profile_id', 'workspace_id'],
  ],
  gemini: [
    ...['contents.parts.fileData.fileUri', 'contents.parts.functionResponse.parts[].fileData.fileUri'],
    ...['contents.parts.functionResponse.parts[].inlineData.data', 'contents.parts.inlineData.data'],
  ],
};

/** Members of a response that are those of its request. */
const without = { Response: ['instructions', 'tools', 'tool_choice', 'text', 'prompt'] };

/** Answers and frames of streams in the SDKs. */
const answers: Record<DialectName, Record<'answer' | 'frame', SdkRequest>> = {
  chat: {
    answer: { sdk: 'openai', file: 'resources/chat/completions/completions.d.ts', types: 'ChatCompletion' },
    frame: {
      sdk: 'openai',
      file: 'resources/chat/completions/completions.d.ts',
      types: 'ChatCompletionChunk',
    },
  },
  responses: {
    answer: { sdk: 'openai', file: 'resources/responses/responses.d.ts', types: 'Response', without },
    frame: {
      sdk: 'openai',
      file: 'resources/responses/responses.d.ts',
      types: 'ResponseStreamEvent',
      without,
    },
  },
  messages: {
    answer: { sdk: '@anthropic-ai/sdk', file: 'resources/beta/messages/messages.d.ts', types: 'BetaMessage' },
    frame: {
      sdk: '@anthropic-ai/sdk',
      file: 'resources/beta/messages/messages.d.ts',
      types: 'BetaRawMessageStreamEvent',
    },
  },
  gemini: {
    answer: { sdk: '@google/genai', file: '../genai.d.ts', types: { 'candidates[]': 'Candidate' } },
    frame: { sdk: '@google/genai', file: '../genai.d.ts', types: { 'candidates[]': 'Candidate' } },
  },
};

/** Members of a content with answers without texts: pictures, files, their ids, and tokens, which repeat a text. */
const logprobs = ['logprobs.content[].token', 'logprobs.content[].top_logprobs[].token'];
const logprobsOfParts = ['logprobs[].token', 'logprobs[].top_logprobs[].token'];
const outputs = [
  ...logprobsOfParts.map((place) => `content[].${place}`),
  ...['output.file_id', 'output.image_url', 'output[].file_data', 'output[].file_id', 'output[].file_url'],
  ...['output[].image_url', 'outputs[].url', 'result', 'tools[].authorization', 'tools[].headers.other'],
  ...['tools[].input_image_mask.file_id', 'tools[].input_image_mask.image_url'],
].map((place) => `output[].${place}`);
const identities = ['metadata.other', 'prompt_cache_key', 'safety_identifier', 'user'];
const message = [
  ...['content[].content.content.source.data', 'content[].content.content[].file_id', 'content[].file_id'],
  ...['usage.fallback_credit.status.remove_to_redeem[]', 'usage.inference_geo'],
];
const candidates = [
  ...['content.parts[].fileData.fileUri', 'content.parts[].functionResponse.parts[].fileData.fileUri'],
  ...['content.parts[].functionResponse.parts[].inlineData.data', 'content.parts[].inlineData.data'],
  'logprobsResult.chosenCandidates[].token',
].map((place) => `candidates[].${place}`);

const withoutTextInAnswers: Record<DialectName, Record<'answer' | 'frame', readonly string[]>> = {
  chat: {
    answer: [
      ...[...logprobs, 'message.audio.data', 'message.audio.id'].map((place) => `choices[].${place}`),
      'metadata.other',
    ],
    frame: ['delta.audio.data', 'delta.audio.id', ...logprobs].map((place) => `choices[].${place}`),
  },
  responses: {
    answer: [...outputs, ...identities].toSorted(),
    frame: [
      'response.audio.delta delta',
      ...[...outputs, ...identities].map((place) => `response.completed response.${place}`).toSorted(),
      'response.image_generation_call.partial_image partial_image_b64',
      ...['delta', 'done'].flatMap((step) =>
        logprobsOfParts.map((place) => `response.output_text.${step} ${place}`),
      ),
    ],
  },
  messages: {
    answer: message.map((place) => `message ${place}`),
    frame: message.map((place) => `message_start message.${place}`),
  },
  gemini: { answer: candidates, frame: candidates },
};

describe('strings of official SDKs', () => {
  it.each(Object.keys(requests) as DialectName[])('are texts of requests of %s', (name) => {
    const rules = dialects[name].texts.request;
    expect(
      unreadIn(
        requests[name].flatMap((request) => [...samplesOf(request)]),
        (body) => viewed(body, rules),
      ),
    ).toEqual(withoutText[name]);
  });

  it.each(Object.keys(requests) as DialectName[])('are texts of answers of %s', (name) => {
    const rules = dialects[name].texts.answer;
    const unread = unreadIn([...samplesOf(answers[name].answer)], (body) => viewed(body, rules));
    expect(unread).toEqual(withoutTextInAnswers[name].answer);
  });

  it.each(Object.keys(requests) as DialectName[])('are texts of frames of %s', (name) => {
    const unread = unreadIn([...samplesOf(answers[name].frame)], (body) => {
      const reader = new FrameReader(dialects[name].texts.frame);
      return reader.read(Buffer.from(`data: ${body}\n\n`)).pieces.map(({ value }) => value);
    });
    expect(unread).toEqual(withoutTextInAnswers[name].frame);
  });
});

/** The place, with the type of its event. */
function placeOf({ place, document }: Sample): string {
  const type = isFields(document) ? document['type'] : undefined;
  return typeof type === 'string' ? `${type} ${place}` : place;
}

function viewed(body: string, rules: TextRules): string[] {
  return atOnce(TextView.read(Buffer.from(body), rules)).texts.map(({ value }) => value);
}

/** The places of samples that are no texts. */
function unreadIn(samples: readonly Sample[], textsOf: (body: string) => readonly string[]): string[] {
  const unread = new Set<string>();
  for (const { place, document } of samples)
    if (!textsOf(JSON.stringify(document)).includes(sample)) unread.add(placeOf({ place, document }));
  expect(samples.length).toBeGreaterThan(15);
  return [...unread].toSorted();
}

interface Sample {
  /** The path of a member, with `[]` for elements. */
  place: string;
  document: unknown;
}

function* samplesOf({ sdk, file, types, without: omitted }: SdkRequest): Generator<Sample, void> {
  const folder = path.dirname(fileURLToPath(import.meta.resolve(sdk)));
  const generator = createGenerator({
    path: path.join(folder, file),
    expose: 'export',
    jsDoc: 'none',
    additionalProperties: true,
    skipTypeCheck: true,
  });
  if (typeof types === 'string')
    yield* new Samples(generator.createSchema(types).definitions, omitted).of(types);
  else
    for (const [member, type] of Object.entries(types)) {
      const samples = new Samples(generator.createSchema(type).definitions, omitted);
      for (const { place, document } of samples.of(type))
        yield { place: `${member}.${place}`, document: documentOf(member, document) };
    }
}

/** A document with a member, by its path. */
function documentOf(member: string, value: unknown): unknown {
  return member
    .split('.')
    .reduceRight(
      (inner, name) => (name.endsWith('[]') ? { [name.slice(0, -2)]: [inner] } : { [name]: inner }),
      value,
    );
}

type Definitions = NonNullable<Definition['definitions']>;

/** Samples of a type: each has one string of it, and the constants around it. */
class Samples {
  readonly #definitions: Definitions;
  readonly #visited = new Set<string>();

  readonly #without: Readonly<Record<string, readonly string[]>>;

  constructor(definitions: Definitions = {}, without: SdkRequest['without'] = {}) {
    this.#definitions = definitions;
    this.#without = without;
  }

  *of(type: string): Generator<Sample, void> {
    yield* this.#samples({ $ref: `#/definitions/${encodeURIComponent(type)}` });
  }

  *#samples(schema: Definition | boolean): Generator<Sample, void> {
    if (typeof schema === 'boolean') return;
    if (schema.$ref !== undefined) {
      if (this.#visited.has(schema.$ref)) return;
      this.#visited.add(schema.$ref);
      yield* this.#samples(this.#resolved(schema.$ref));
      return;
    }
    for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      yield* this.#samples(each);
    if (schema.properties !== undefined || typeof schema.additionalProperties === 'object')
      yield* this.#members(schema);
    for (const each of [schema.items ?? []].flat())
      for (const { place, document } of this.#samples(each))
        yield {
          place: `[]${place === '' || place.startsWith('[') ? '' : '.'}${place}`,
          document: [document],
        };
    const isString = [schema.type].flat().includes('string') || Object.keys(schema).length === 0;
    if (isString && schema.enum === undefined && schema.const === undefined)
      yield { place: '', document: sample };
  }

  *#members(schema: Definition): Generator<Sample, void> {
    const members = Object.entries(schema.properties ?? {}) as [string, Definition][];
    const constants = Object.fromEntries(
      members.flatMap(([name, { const: value }]) => (value === undefined ? [] : [[name, value]])),
    );
    const { additionalProperties: others } = schema;
    const all = typeof others === 'object' ? [...members, ['other', others] as const] : members;
    for (const [name, member] of all)
      for (const { place, document } of this.#samples(member))
        yield {
          place: `${name}${place === '' || place.startsWith('[') ? '' : '.'}${place}`,
          document: { ...constants, [name]: document },
        };
  }

  #resolved(reference: string): Definition {
    const name = decodeURIComponent(reference.replace('#/definitions/', ''));
    const definition = this.#definitions[name];
    if (typeof definition !== 'object') throw new Error(`the SDK has no type ${name}`);
    const { properties = {} } = definition;
    const left = Object.entries(properties).filter(
      ([member]) => this.#without[name]?.includes(member) !== true,
    );
    return definition.properties === undefined
      ? definition
      : { ...definition, properties: Object.fromEntries(left) };
  }
}
