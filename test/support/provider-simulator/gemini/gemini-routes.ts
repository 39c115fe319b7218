import type { Answer } from '../answer-format.ts';
import { echo, jsonText, textPieces } from '../answer-text.ts';
import { RefusedRequest } from '../errors.ts';
import type { Fault } from '../faults.ts';
import { arrayFraming } from '../frame.ts';
import type { Frame } from '../frame.ts';
import type { ChargedUsage } from '../records.ts';
import type { Route, RouteContext } from '../route.ts';
import { geminiVersion } from '../rules/model-name.ts';
import { namedTools, quotedCalls, scriptedCalls, type PlannedCall } from '../tool-calls.ts';
import { isObject, objectsIn, splitIntoWords } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { answerEmbeddings } from './gemini-embeddings.ts';
import { generationOf } from './generation-config.ts';

/** Methods of Google's Gemini API: https://ai.google.dev/api/generate-content. */

/** The route of a path such as `/v1beta/models/any:generateContent`; undefined for others. */
export function geminiRoute(method: string, path: string): Route | undefined {
  const [pathname = '', query] = path.split('?', 2);
  const [, model, name = ''] = pathOf(pathname) ?? [];
  if (method !== 'POST' || model === undefined) return undefined;
  if (name === 'countTokens') return countContent;
  if (name.includes('mbed')) return (context) => answerEmbeddings(context, name.startsWith('batch'));
  const streamed = name === 'streamGenerateContent';
  const asArray = streamed && new URLSearchParams(query).get('alt') !== 'sse';
  return (context) => answerContent(context, { model: decodeURIComponent(model), streamed, asArray });
}

/** Whether a path is of this API. */
export function isGemini(path: string): boolean {
  return geminiModel(path) !== null;
}

/** The model that a path of this API names; null for other paths. */
export function geminiModel(path: string): string | null {
  const [, model] = pathOf(path.split('?', 1)[0] ?? '') ?? [];
  return model === undefined ? null : decodeURIComponent(model);
}

function pathOf(pathname: string): RegExpExecArray | null {
  return methodPath.exec(pathname);
}

/** The paths of Vertex AI have a project, a location and a publisher before the model. */
const methodPath =
  /^\/v1(?:beta)?(?:\/projects\/.+\/publishers\/google)?\/models\/(.+):(generateContent|streamGenerateContent|embedContent|batchEmbedContents|countTokens)$/;

interface Asked {
  model: string;
  streamed: boolean;
  /** Whether the stream is a JSON array in place of events. */
  asArray: boolean;
}

/** The signature of every call. A turn whose call comes back without one is refused, as by models from Gemini 3 on. */
const signature = Buffer.from('simulator').toString('base64');

/** The version of models without one in their names. */
const newest = 300;

function answerContent(
  { exchange, fault, newId }: RouteContext,
  { model, streamed, asArray }: Asked,
): Answer {
  const body = exchange.record.body;
  if (!isObject(body)) throw new RefusedRequest('Invalid JSON payload received.');
  const contents = objectsIn(body['contents']);
  if (contents.length === 0)
    throw new RefusedRequest('* GenerateContentRequest.contents: contents is not specified');
  if ((geminiVersion(model) ?? newest) >= 300) checkSignatures(contents);
  const id = newId('');
  const calls = callsOf(body, contents, fault);
  const { json, thoughts, showsThoughts } = generationOf(body, fault);
  const said = (): string => {
    const text = echo(echoed(contents));
    return json === null ? text : jsonText(json.schema, text);
  };
  const pieces = calls.length > 0 && fault.content === undefined ? [] : textPieces(fault, said);
  const shown = showsThoughts ? thoughts.map((text) => ({ text, thought: true })) : [];
  const usage = usageOf(body, contents, { pieces, calls, thoughts }, fault);
  // A call comes whole or not at all.
  const last = (fault.calls_cut === true ? [] : calls).map((call) => ({
    functionCall: callObject(call),
    thoughtSignature: signature,
  }));
  const stop = fault.calls_cut === true ? 'MAX_TOKENS' : 'STOP';
  const head = { modelVersion: model, responseId: id };
  const shownUsage = fault.no_usage === true ? {} : { usageMetadata: usage };
  return {
    id,
    usage: chargedOf(usage),
    streamed,
    ...(asArray && { framing: arrayFraming() }),
    frames: () => [
      ...shown.map((thought) => frameOf('block', responseOf([thought], null, head), false)),
      ...pieces.map((text) => frameOf('content', responseOf([{ text }], null, head), false)),
      frameOf('usage', { ...responseOf(last, stop, head), ...shownUsage }, fault.no_usage !== true),
    ],
    whole: () => {
      const texts = pieces.length === 0 ? [] : [{ text: pieces.join('') }];
      const thought =
        showsThoughts && thoughts.length > 0 ? [{ text: thoughts.join(''), thought: true }] : [];
      return JSON.stringify({ ...responseOf([...thought, ...texts, ...last], stop, head), ...shownUsage });
    },
  };
}

/** Counts without charge. */
function countContent({ exchange, fault }: RouteContext): Answer {
  const body = exchange.record.body;
  if (!isObject(body)) throw new RefusedRequest('Invalid JSON payload received.');
  const asked = isObject(body['generateContentRequest']) ? body['generateContentRequest'] : body;
  const contents = objectsIn(asked['contents']);
  if (contents.length === 0)
    throw new RefusedRequest('* CountTokensRequest.contents: contents is not specified');
  const { promptTokenCount } = usageOf(asked, contents, { pieces: [], calls: [], thoughts: [] }, fault);
  const whole = (): string => JSON.stringify({ totalTokens: promptTokenCount });
  return { id: null, usage: null, streamed: false, frames: null, whole };
}

function frameOf(kind: Frame['kind'], response: JsonObject, carriesUsage: boolean): Frame {
  return { kind, data: JSON.stringify(response), carriesUsage };
}

function responseOf(parts: readonly JsonObject[], finishReason: string | null, head: JsonObject): JsonObject {
  const content = { parts: parts.length === 0 ? [{ text: '' }] : parts, role: 'model' };
  return { candidates: [{ content, ...(finishReason !== null && { finishReason }), index: 0 }], ...head };
}

/** SDKs store the calls of a streamed step as contents of their own. */
function checkSignatures(contents: readonly JsonObject[]): void {
  const end = contents.findLastIndex(({ role }) => role === 'model') + 1;
  const start = contents.slice(0, end).findLastIndex(({ role }) => role !== 'model') + 1;
  const [call] = partsOf(contents.slice(start, end)).filter((part) => isObject(part['functionCall']));
  if (call !== undefined && typeof call['thoughtSignature'] !== 'string')
    throw new RefusedRequest('Function call is missing a thought_signature in functionCall parts.');
}

function partsOf(contents: readonly JsonObject[]): JsonObject[] {
  return contents.flatMap(({ parts }) =>
    Array.isArray(parts) ? objectsIn(parts) : [parts].filter(isObject),
  );
}

/** The last text of a content: those before it are often context. */
function lastTextOf(content: JsonObject | undefined): string {
  const texts = partsOf(content === undefined ? [] : [content]).map(({ text }) => text);
  return texts.filter((text) => typeof text === 'string').findLast((text) => text !== '') ?? '';
}

/** The results of the tools at the end of the conversation. */
function resultsIn(contents: readonly JsonObject[]): string[] {
  const last = contents.at(-1);
  return partsOf(last === undefined ? [] : [last])
    .map(({ functionResponse: result }) => (isObject(result) ? result['response'] : undefined))
    .filter((result) => result !== undefined)
    .map((result) => JSON.stringify(result));
}

function echoed(contents: readonly JsonObject[]): { lastUserText: string | null; toolAnswers: string[] } {
  const asked = contents.findLast((content) => content['role'] !== 'model' && lastTextOf(content) !== '');
  return { lastUserText: asked === undefined ? null : lastTextOf(asked), toolAnswers: resultsIn(contents) };
}

function callsOf(body: JsonObject, contents: readonly JsonObject[], fault: Fault): PlannedCall[] {
  const declared = objectsIn(body['tools']).flatMap((tool) => objectsIn(tool['functionDeclarations']));
  const tools = declared.map(({ name, parametersJsonSchema, parameters }) => ({
    name: String(name),
    parameters: parametersJsonSchema ?? parameters,
  }));
  const config = isObject(body['toolConfig']) ? body['toolConfig']['functionCallingConfig'] : undefined;
  const mode = isObject(config) ? config['mode'] : 'AUTO';
  const choice = { kind: mode === 'NONE' ? 'none' : mode === 'ANY' ? 'required' : 'auto' } as const;
  const rounds = partsOf(contents).filter(({ functionResponse: result }) => isObject(result)).length;
  const userText = lastTextOf(contents.at(-1));
  const turn = { choice, afterTools: resultsIn(contents).length > 0, userText };
  return scriptedCalls(fault, choice, rounds) ?? quotedCalls(namedTools(tools, turn), turn, fault);
}

function callObject({ name, arguments: text }: PlannedCall): JsonObject {
  return { name, args: JSON.parse(text) as unknown };
}

interface UsageMetadata extends JsonObject {
  promptTokenCount: number;
  candidatesTokenCount: number;
  thoughtsTokenCount?: number;
  totalTokenCount: number;
}

interface Said {
  pieces: readonly string[];
  calls: readonly PlannedCall[];
  thoughts: readonly string[];
}

/**
 * Input is 3, and for each content 3 and a quarter of its characters; output is the number of words and calls, without the
 * words of thoughts.
 */
function usageOf(
  body: JsonObject,
  contents: readonly JsonObject[],
  { pieces, calls, thoughts }: Said,
  { usage = {} }: Fault,
): UsageMetadata {
  const system = isObject(body['systemInstruction']) ? [body['systemInstruction']] : [];
  const all = [...system, ...contents].map(
    (content) => 3 + Math.ceil(JSON.stringify(partsOf([content])).length / 4),
  );
  const prompt = usage.prompt_tokens ?? all.reduce((sum, tokens) => sum + tokens, 3);
  const output = usage.completion_tokens ?? splitIntoWords(pieces.join('')).length + calls.length;
  return {
    ...{ promptTokenCount: prompt, candidatesTokenCount: output },
    ...(thoughts.length > 0 && { thoughtsTokenCount: thoughts.length }),
    totalTokenCount: prompt + output + thoughts.length,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  };
}

function chargedOf(usage: UsageMetadata): ChargedUsage {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0, totalTokenCount } = usage;
  return {
    prompt_tokens: promptTokenCount,
    completion_tokens: candidatesTokenCount + thoughtsTokenCount,
    total_tokens: totalTokenCount,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: thoughtsTokenCount },
  };
}
