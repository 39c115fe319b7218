import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import type { CompletionRequest, Operation, RequestInPath, RequestSource } from '../dialect.ts';
import { kindOf, missing, objectOf, wrongType, type FieldTypes } from '../request-fields.ts';
import { checkFields, objectIn, valueOf } from './fields.ts';
import { GeminiEmbeddings } from './gemini-embeddings.ts';
import { GeminiRequest } from './gemini-request.ts';
import type { Share } from '../wire/request-text.ts';
import { applyChanges, type Edit } from '../wire/json-edits.ts';
import type { Member } from '../wire/json-members.ts';
import { named } from './history-rewrite.ts';
import { renameModel, rewriteRequest, type HistoryRewrite } from './request-rewrite.ts';
import { Pieces } from '../wire/pieces.ts';
import { maxInputs } from '../bounds.ts';
import { PartCount } from './part-count.ts';

/**
 * Types of the fields of a request for content. Only types are checked; the provider checks values, and other fields pass
 * through.
 */
const fieldTypes: FieldTypes = {
  cachedContent: ['string'],
  contents: ['array', 'object'],
  generationConfig: ['object'],
  labels: ['object'],
  model: ['string'],
  safetySettings: ['array', 'object'],
  serviceTier: ['string'],
  systemInstruction: ['object', 'string'],
  toolConfig: ['object'],
  tools: ['array', 'object'],
};

/** The same of `generationConfig`. Its numbers may be written as texts. */
const configTypes: FieldTypes = {
  candidateCount: ['number', 'string'],
  maxOutputTokens: ['number', 'string'],
  modelConfig: ['object'],
  responseModalities: ['array', 'string'],
  routingConfig: ['object'],
  stopSequences: ['array', 'string'],
  temperature: ['number', 'string'],
  thinkingConfig: ['object'],
  topP: ['number', 'string'],
};

const thinkingTypes: FieldTypes = { thinkingBudget: ['number', 'string'] };
const routingTypes: FieldTypes = { autoMode: ['object'], manualMode: ['object'] };
const toolConfigTypes: FieldTypes = { functionCallingConfig: ['object'] };

/** The same of a request for the vector of a content. */
const embeddingTypes: FieldTypes = {
  content: ['object'],
  model: ['string'],
  outputDimensionality: ['number', 'string'],
  taskType: ['string', 'number'],
  title: ['string'],
};

/** See `RequestFormat`. The model stands in the path. */
export function readRequest(
  operation: Operation,
  body: Buffer,
  parsed: unknown,
  inPath?: RequestInPath,
): CompletionRequest {
  if (inPath === undefined) throw new Error('the path of a request of this API has its model');
  checkModel(inPath.model);
  const fields = objectOf(parsed);
  if (operation === 'embeddings') {
    checkEmbeddings(fields, inPath.isBatch === true);
    return new GeminiEmbeddings(body, fields, inPath);
  }
  checkRequest(fields, inPath);
  return new GeminiRequest(body, fields, inPath);
}

/** Checks the types of a request for content. */
export function checkRequest(fields: Fields, { model }: RequestInPath): void {
  checkModel(model);
  checkFields(fields, fieldTypes);
  const config = objectIn(fields, 'generationConfig');
  checkFields(config, configTypes, 'generationConfig.');
  checkFields(objectIn(config, 'thinkingConfig'), thinkingTypes, 'generationConfig.thinkingConfig.');
  const routing = objectIn(config, 'routingConfig');
  checkFields(routing, routingTypes, 'generationConfig.routingConfig.');
  const manual = objectIn(routing, 'manualMode');
  checkFields(manual, { modelName: ['string'] }, 'generationConfig.routingConfig.manualMode.');
  checkFields(objectIn(fields, 'toolConfig'), toolConfigTypes, 'toolConfig.');
  checkContents(fields['contents']);
}

function checkModel(model: string): void {
  if (model === '')
    throw new AppError('invalid_value', 'The model in the path must not be empty.', { param: 'model' });
}

function checkEmbeddings(fields: Fields, isBatch: boolean): void {
  const parts = new PartCount();
  if (!isBatch) {
    checkEmbedding(fields, '', parts);
    return;
  }
  checkFields(fields, { requests: ['array', 'object'] });
  const { requests } = fields;
  if (requests === undefined || requests === null) throw missing('requests');
  const all = Array.isArray(requests) ? requests : [requests];
  if (all.length === 0 || all.length > maxInputs)
    throw new AppError('invalid_value', `requests must have 1 to ${maxInputs} elements.`, {
      param: 'requests',
    });
  for (const [index, request] of all.entries()) {
    const path = `requests[${index}]`;
    if (kindOf(request) !== 'object') throw wrongType(path, ['object']);
    checkEmbedding(request as Fields, `${path}.`, parts);
  }
}

function checkEmbedding(fields: Fields, path: string, parts: PartCount): void {
  checkFields(fields, embeddingTypes, path);
  if ((fields['content'] ?? null) === null) throw missing(`${path}content`);
  parts.add(fields['content'] as Fields, `${path}content`);
}

function checkContents(contents: unknown): void {
  if (contents === undefined || contents === null) throw missing('contents');
  const all = Array.isArray(contents) ? contents : [contents];
  if (all.length === 0)
    throw new AppError('invalid_value', 'contents must not be empty.', { param: 'contents' });
  const parts = new PartCount();
  for (const [index, content] of all.entries()) {
    const path = `contents[${index}]`;
    if (kindOf(content) !== 'object') throw wrongType(path, ['object']);
    const role = (content as Fields)['role'] ?? '';
    if (typeof role !== 'string') throw wrongType(`${path}.role`, ['string']);
    parts.add(content as Fields, path);
  }
}

const wholeName = 'generateContentRequest';

/** Reads a request for a count: contents alone, or a whole request for content in a member of its own. */
export function readCountRequest(body: Buffer, parsed: unknown, inPath: RequestInPath): CompletionRequest {
  const fields = objectOf(parsed);
  checkFields(fields, { [wholeName]: ['object'] });
  const whole = valueOf(fields, wholeName) as Fields | null | undefined;
  const counted = whole ?? fields;
  checkRequest(counted, inPath);
  return new GeminiCountRequest(body, counted, inPath);
}

/** `fields`: the request for content in the body. */
class GeminiCountRequest extends GeminiRequest {
  override source(share: Share): RequestSource {
    return this.textSource(share, rewriteCount);
  }
}

/**
 * Additions of an agent have a place in a whole request only, so contents alone become one. Translation reads the request for
 * content itself.
 */
function rewriteCount(body: Buffer, rewrite: HistoryRewrite, members: readonly Member[]): Pieces {
  const wholes = named(members, wholeName).filter(
    ({ valueStart, valueEnd }) => body.toString('latin1', valueStart, valueEnd) !== 'null',
  );
  const last = wholes.at(-1);
  if (last === undefined) {
    const rewritten = rewriteRequest(body, rewrite, members);
    if (rewrite.isTranslated === true) return rewritten;
    return rewrite.systemPrompt === null && rewrite.tools === null
      ? rewritten
      : wrapped(rewritten.whole, named(members, 'model').length > 0 ? null : rewrite.model);
  }
  const text = rewriteRequest(body.subarray(last.valueStart, last.valueEnd), rewrite);
  if (rewrite.isTranslated === true) return text;
  const edits: Edit[] = [];
  for (const member of named(members, 'model')) renameModel(body, member, rewrite.model, edits);
  for (const { valueStart: at, valueEnd: until } of wholes) edits.push({ at, until, text: text.all });
  return applyChanges(body, members, { edits, added: [] });
}

/** A whole request names its model. */
function wrapped(request: Buffer, model: string | null): Pieces {
  const start = request.indexOf('{') + 1;
  const modelField = model === null ? '' : `"model":${JSON.stringify(`models/${model}`)},`;
  return new Pieces([
    Buffer.from(`{"${wholeName}":{${modelField}`),
    request.subarray(start),
    Buffer.from('}'),
  ]);
}
