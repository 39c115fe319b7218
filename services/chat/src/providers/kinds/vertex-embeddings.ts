import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import { vertexTextsPerCall } from '@gatehouse/dialects/bedrock-embedders';
import { elementsOf, objectMembers, type Member } from '@gatehouse/dialects/wire/json-members';
import { elementRanges, memberRanges, parsedPart, wholeOf } from '@gatehouse/dialects/wire/json-parts';
import { ProviderFailure } from '../provider-failure.ts';
import type { ApiCall, BatchAnswer, BatchPart, EmbeddingBatch, PartVectors } from '../provider-kind.ts';
import { vectorIn } from './bedrock-embeddings.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

/** Google's request for embeddings, of one content or a batch, as calls of Vertex AI's `predict`. */
export function vertexBatch({ model, isBatch }: ApiCall, body: Buffer, provider: string): EmbeddingBatch {
  const textsPerCall = vertexTextsPerCall(model) ?? 1;
  return {
    parts: partsOf(body, { isBatch: isBatch === true, textsPerCall, provider }),
    read: readPredictions,
    // As Google's API has it.
    text: {
      ...(isBatch === true ? { head: '{"embeddings":[', end: ']' } : { head: '{"embedding":', end: '' }),
      before: '{"values":',
      usage: (tokens) => `,"usageMetadata":{"promptTokenCount":${tokens}}`,
    },
  };
}

interface EmbeddingRequest {
  /** The JSON text of an instance. */
  instance: Buffer;
  /** The JSON text of its call's parameters. */
  parameters: string;
}

function* partsOf(
  body: Buffer,
  { isBatch, textsPerCall, provider }: { isBatch: boolean; textsPerCall: number; provider: string },
): Generator<BatchPart> {
  let open: EmbeddingRequest[] = [];
  for (const at of isBatch ? requestsIn(body) : [body.indexOf('{')]) {
    const requests = askedAt(body, at, provider);
    const [first = requests] = open;
    if (open.length === textsPerCall || first.parameters !== requests.parameters) {
      yield partOf(open);
      open = [];
    }
    open.push(requests);
  }
  if (open.length > 0) yield partOf(open);
}

function requestsIn(body: Buffer): Iterable<number> {
  return elementsAt(body, memberAt(body, body.indexOf('{'), 'requests')?.valueStart ?? 0);
}

/** The places of a list's elements; a single one may stand without its list. */
export function elementsAt(body: Buffer, start: number): Iterable<number> {
  return body[start] === openBracket ? elementsOf(body, start) : [start];
}

/** The member of a name, in either of its spellings, of the object at a place; the last one counts. */
export function memberAt(body: Buffer, at: number, name: string): Member | undefined {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const members = body[at] === openBrace ? objectMembers(body, { from: at }) : [];
  return members.findLast((member) => member.name === name || member.name === snake);
}

function partOf(requests: readonly EmbeddingRequest[]): BatchPart {
  const instances = requests.flatMap(({ instance }, index) => (index === 0 ? [instance] : [comma, instance]));
  const end = Buffer.from(`],"parameters":${requests[0]?.parameters ?? '{}'}}`);
  return { body: new Pieces([Buffer.from('{"instances":['), ...instances, end]), texts: requests.length };
}

const comma = Buffer.from(',');

function askedAt(body: Buffer, at: number, provider: string): EmbeddingRequest {
  const written = (name: string): string | null => {
    const member = memberAt(body, at, name);
    const text = member === undefined ? 'null' : textOf(body, member);
    return text === 'null' ? null : text;
  };
  const [type, title, dimensions] = ['taskType', 'title', 'outputDimensionality'].map(written);
  const others = `${type ? `,"task_type":${type}` : ''}${title ? `,"title":${title}` : ''}}`;
  const content = contentText(body, memberAt(body, at, 'content'), provider);
  return {
    instance: Buffer.concat([Buffer.from('{"content":'), content, Buffer.from(others)]),
    // Else an overlong text would lose its end without notice.
    parameters: `{"autoTruncate":false${dimensions ? `,"outputDimensionality":${dimensions}` : ''}}`,
  };
}

/** The JSON text of a content, as it is written if it has one part. */
function contentText(body: Buffer, content: Member | undefined, provider: string): Buffer {
  const parts = content && memberAt(body, content.valueStart, 'parts');
  const starts = parts === undefined ? [] : elementsAt(body, parts.valueStart);
  const texts: Buffer[] = [];
  for (const at of starts) {
    const text = memberAt(body, at, 'text');
    if (text === undefined) throw noText(provider);
    texts.push(body.subarray(text.valueStart, text.valueEnd));
  }
  const [only] = texts;
  if (only === undefined) throw noText(provider);
  return texts.length === 1
    ? only
    : Buffer.from(JSON.stringify(texts.map((text) => JSON.parse(text.toString()) as string).join('')));
}

function noText(provider: string): ProviderFailure {
  const message = 'content.parts: the model makes vectors of texts alone.';
  return new ProviderFailure('status', provider, { status: 400, message });
}

function textOf(body: Buffer, { valueStart, valueEnd }: Member): string {
  return body.toString('utf8', valueStart, valueEnd);
}

async function readPredictions({ bytes, texts, tenantId }: BatchAnswer): Promise<PartVectors> {
  const list = (await memberRanges(bytes, wholeOf(bytes), tenantId))?.get('predictions');
  const vectors: Buffer[] = [];
  let inputTokens: number | null = 0;
  for (const entry of (list && (await elementRanges(bytes, list, { tenantId, max: texts + 1 }))) ?? []) {
    const range = (await memberRanges(bytes, entry, tenantId))?.get('embeddings');
    const members = range && (await memberRanges(bytes, range, tenantId));
    const [values, counted] = [members?.get('values'), members?.get('statistics')];
    if (values !== undefined) vectors.push(vectorIn(bytes, values));
    const statistics = counted && (await parsedPart(bytes, counted, tenantId));
    const { token_count: tokens } = Object(statistics) as { token_count?: unknown };
    inputTokens = inputTokens !== null && typeof tokens === 'number' ? inputTokens + tokens : null;
  }
  return { vectors, inputTokens };
}
