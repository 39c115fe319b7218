import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DialectName } from '@gatehouse/contract/dialects';
import { dialects } from '@gatehouse/dialects/dialects';
import { TextView } from '@gatehouse/dialects/text-view/text-view';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { createGenerator, type Definition } from 'ts-json-schema-generator';

/** The declarations of a request in an official SDK: one type, or one for each member of the request, by its path. */
interface SdkRequest {
  sdk: string;
  file: string;
  types: string | Readonly<Record<string, string>>;
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

describe('strings in requests of official SDKs', () => {
  it.each(Object.keys(requests) as DialectName[])('are texts of %s', (name) => {
    const unread = new Set<string>();
    let count = 0;
    for (const { place, document } of requests[name].flatMap((request) => [...samplesOf(request)])) {
      count += 1;
      const view = atOnce(TextView.read(Buffer.from(JSON.stringify(document)), dialects[name].texts.request));
      if (!view.texts.some(({ value }) => value === sample)) unread.add(place);
    }
    expect(count).toBeGreaterThan(50);
    expect([...unread].toSorted()).toEqual(withoutText[name]);
  });
});

interface Sample {
  /** The path of a member, with `[]` for elements. */
  place: string;
  document: unknown;
}

function* samplesOf({ sdk, file, types }: SdkRequest): Generator<Sample, void> {
  const folder = path.dirname(fileURLToPath(import.meta.resolve(sdk)));
  const generator = createGenerator({
    path: path.join(folder, file),
    expose: 'export',
    jsDoc: 'none',
    additionalProperties: true,
    skipTypeCheck: true,
  });
  if (typeof types === 'string') yield* new Samples(generator.createSchema(types).definitions).of(types);
  else
    for (const [member, type] of Object.entries(types)) {
      const samples = new Samples(generator.createSchema(type).definitions);
      for (const { place, document } of samples.of(type))
        yield { place: `${member}.${place}`, document: documentOf(member, document) };
    }
}

/** A document with a member, by its path. */
function documentOf(member: string, value: unknown): unknown {
  return member.split('.').reduceRight((inner, name) => ({ [name]: inner }), value);
}

type Definitions = NonNullable<Definition['definitions']>;

/** Samples of a type: each has one string of it, and the constants around it. */
class Samples {
  readonly #definitions: Definitions;
  readonly #visited = new Set<string>();

  constructor(definitions: Definitions = {}) {
    this.#definitions = definitions;
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
    return definition;
  }
}
