import { openBracket, skipSpace, textEnd } from '@gatehouse/kit/json-bytes';
import { bedrockEmbedder, inputTypes, type BedrockEmbedder } from '@gatehouse/dialects/bedrock-embedders';
import { elementsOf, objectMembers } from '@gatehouse/dialects/wire/json-members';
import {
  elementRanges,
  memberRanges,
  parsedPart,
  wholeOf,
  type Range,
} from '@gatehouse/dialects/wire/json-parts';
import type { BatchAnswer, BatchPart, EmbeddingBatch, PartVectors } from '../provider-kind.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

/**
 * OpenAI's request for embeddings as calls of InvokeModel: Amazon's models take one text each, Cohere's 96. Texts stay
 * as they are written. Throws for a model not known to have embeddings.
 */
export function bedrockBatch(model: string, body: Buffer): EmbeddingBatch {
  const embedder = bedrockEmbedder(model);
  if (embedder === null) throw new Error(`the model ${model} has no embeddings`);
  return { parts: partsOf(body, embedder), read: readers[embedder.vendor] };
}

function* partsOf(body: Buffer, embedder: BedrockEmbedder): Generator<BatchPart> {
  const members = objectMembers(body);
  // The last of equal names counts, as for the check of types.
  const textOf = (name: string): string => {
    const member = members.findLast((each) => each.name === name);
    return member === undefined ? 'null' : body.toString('utf8', member.valueStart, member.valueEnd);
  };
  const input = members.findLast(({ name }) => name === 'input')?.valueStart ?? 0;
  const [head, end] = bodyAround(embedder, textOf).map((text) => Buffer.from(text)) as [Buffer, Buffer];
  let texts: Buffer[] = [];
  const part = (): BatchPart => ({
    body: new Pieces([head, ...texts.flatMap((text, index) => (index === 0 ? text : [comma, text])), end]),
    texts: texts.length,
  });
  for (const at of body[input] === openBracket ? elementsOf(body, input) : [input]) {
    texts.push(body.subarray(at, textEnd(body, at) + 1));
    if (texts.length < embedder.textsPerCall) continue;
    yield part();
    texts = [];
  }
  if (texts.length > 0) yield part();
}

const comma = Buffer.from(',');

/** The text of a body before its texts and behind them. `textOf`: the JSON text of a member of the request, or null. */
function bodyAround(
  { vendor, dimensionsField }: BedrockEmbedder,
  textOf: (name: string) => string,
): [string, string] {
  const wanted = dimensionsField === null ? 'null' : textOf('dimensions');
  const dimension = wanted === 'null' ? '' : `"${dimensionsField}":${wanted}`;
  const dimensions = dimension === '' ? '' : `,${dimension}`;
  const named = textOf('input_type');
  const purpose = named === 'null' ? inputTypes[0] : String(JSON.parse(named));
  switch (vendor) {
    case 'titan':
      return ['{"inputText":', `${dimensions}}`];
    case 'titan-image':
      return ['{"inputText":', dimension === '' ? '}' : `,"embeddingConfig":{${dimension}}}`];
    case 'nova': {
      const params = `"embeddingPurpose":"${novaPurposes[purpose] ?? novaPurposes[inputTypes[0]]}"${dimensions}`;
      const text = '"text":{"truncationMode":"NONE","value":';
      return [`{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{${params},${text}`, '}}}'];
    }
    case 'cohere': {
      const fields = `"input_type":${JSON.stringify(purpose)},"embedding_types":["float"]${dimensions}`;
      return ['{"texts":[', `],${fields}}`];
    }
  }
}

const novaPurposes: Readonly<Record<string, string>> = {
  search_document: 'GENERIC_INDEX',
  search_query: 'TEXT_RETRIEVAL',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
};

const readers: Record<BedrockEmbedder['vendor'], (answer: BatchAnswer) => Promise<PartVectors>> = {
  titan: readTitan,
  'titan-image': readTitan,
  nova: readNova,
  cohere: readCohere,
};

/** One entry for each kind of the input, which is a text. */
async function readNova({ bytes, headers, texts, tenantId }: BatchAnswer): Promise<PartVectors> {
  const range = (await memberRanges(bytes, wholeOf(bytes), tenantId))?.get('embeddings');
  const entries = (range && (await elementRanges(bytes, range, { tenantId, max: texts + 1 }))) ?? [];
  const vectors: Buffer[] = [];
  for (const entry of entries) {
    const vector = (await memberRanges(bytes, entry, tenantId))?.get('embedding');
    if (vector !== undefined) vectors.push(vectorIn(bytes, vector));
  }
  return { vectors, inputTokens: countOf(Number(headers[tokensHeader])) };
}

async function readTitan({ bytes, headers, tenantId }: BatchAnswer): Promise<PartVectors> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  const vector = members?.get('embedding');
  const tokens = members?.get('inputTextTokenCount');
  return {
    vectors: vector === undefined ? [] : [vectorIn(bytes, vector)],
    inputTokens:
      countOf(tokens && (await parsedPart(bytes, tokens, tenantId))) ??
      countOf(Number(headers[tokensHeader])),
  };
}

/** Vectors stand in a list, or in one for each of their types. */
async function readCohere({ bytes, headers, texts, tenantId }: BatchAnswer): Promise<PartVectors> {
  const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
  const range = members?.get('embeddings');
  const types = range && (await memberRanges(bytes, range, tenantId));
  const list = types ? types.get('float') : range;
  const vectors = list && (await elementRanges(bytes, list, { tenantId, max: texts + 1 }));
  return {
    vectors: (vectors ?? []).map((vector) => vectorIn(bytes, vector)),
    inputTokens: countOf(Number(headers[tokensHeader])),
  };
}

/** Bedrock's count of the tokens of a call of InvokeModel. */
const tokensHeader = 'x-amzn-bedrock-input-token-count';

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** The text of a vector, copied so the rest of the answer is freed. Throws for any other value. */
export function vectorIn(bytes: Buffer, { from, until }: Range): Buffer {
  if (bytes[skipSpace(bytes, from)] !== openBracket) throw new Error('a vector is no list');
  return Buffer.from(bytes.subarray(from, until));
}
