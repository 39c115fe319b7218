import { hasFinished } from './stream.ts';
import {
  atRoot,
  isSealed,
  reads,
  type FrameRules,
  type TextFormat,
  type TextPlace,
  type TextRules,
} from '../text-view/text-rules.ts';

/** The texts of requests for contents, counts of tokens and embeddings. */
const request: TextRules = {
  list: 'contents',
  kind: 'user',
  members: {
    ...reads('word', [
      ...[
        'model',
        'role',
        'mimeType',
        'language',
        'outcome',
        'mode',
        'responseMimeType',
        'responseModalities',
      ],
      ...['mediaResolution', 'level', 'category', 'threshold', 'method', 'thinkingLevel', 'voiceName'],
      ...['languageCode', 'languageCodes', 'behavior', 'scheduling', 'toolType', 'taskType', 'serviceTier'],
      ...['startOffset', 'endOffset', 'environment', 'dynamicMode'],
    ]),
    ...reads('fixed', ['name', 'allowedFunctionNames', 'jsonPath']),
    ...reads('schema', [
      ...['parameters', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema', 'schema'],
      'responseFormatSchema',
    ]),
    fileUri: 'file',
    cachedContent: 'data',
    thoughtSignature: 'sealed',
    args: 'values',
    response: ({ name }) => (results.has(name) ? 'values' : 'schema'),
    data: ({ name }) => (name === 'inlineData' ? 'file' : 'text'),
    labels: atRoot('identity'),
  },
  names: new Set([
    'id',
    ...['contents', 'content', 'systemInstruction', 'parts', 'text', 'thought', 'functionCall', 'inlineData'],
    ...['functionResponse', 'fileData', 'displayName', 'executableCode', 'code', 'codeExecutionResult'],
    ...['output', 'toolCall', 'toolResponse', 'partMetadata', 'videoMetadata', 'tools', 'description'],
    ...['functionDeclarations', 'toolConfig', 'functionCallingConfig', 'generationConfig', 'stopSequences'],
    ...[
      'safetySettings',
      'requests',
      'title',
      'speechConfig',
      'thinkingConfig',
      'googleSearch',
      'urlContext',
    ],
    ...['generateContentRequest', 'retrievalConfig', 'imageConfig', 'partialArgs', 'stringValue', 'jsonPath'],
  ]),
  kindOf: (place, member) => {
    if (place.isRoot) return member === 'systemInstruction' || member === 'tools' ? 'system' : null;
    return results.has(place.name) ? 'tool_result' : null;
  },
  isOfModel: (place) => place.sign('role') === 'model',
  isSigned: (place) => place.sign('thought') === 'true' && isSealed(place.sign('thoughtSignature')),
  isSignedText: (place, member) =>
    member === 'text' && place.isPartOfModel('parts', request) && request.isSigned(place),
  isThought: (place, member) => member === 'text' && place.sign('thought') === 'true',
  unsigned: '""',
  unrepeated: 'null',
  isUnreadable,
  spelled: camelCase,
};

/** The texts of whole answers. */
const answer: TextRules = {
  ...request,
  citations: {
    offsets: new Set(['startIndex', 'endIndex']),
    unit: 'bytes',
    excerpt: 'text',
    textKey: (place) => `${candidateKey(place)}.content.parts[${place.sign('partIndex') || '0'}].text`,
  },
  list: '',
  choices: 'candidates',
  kind: 'answer',
  members: {
    ...request.members,
    ...reads('word', [
      'finishReason',
      'blockReason',
      'modelVersion',
      'createTime',
      'trafficType',
      'modality',
    ]),
    logprobsResult: 'repeat',
    usageMetadata: atRoot('identity'),
  },
  names: new Set([
    ...[...request.names, 'candidates', 'content', 'usageMetadata', 'groundingMetadata', 'promptFeedback'],
    ...[
      'citationMetadata',
      'finishMessage',
      'groundingChunks',
      'groundingSupports',
      'error',
      'index',
      'responseId',
    ],
  ]),
  kindOf: ({ name }) => (name === 'functionCall' ? 'tool_call' : results.has(name) ? 'tool_result' : null),
  isSignedText: () => false,
  isUnreadable: () => false,
};

/** Parts with results of tools. */
const results: ReadonlySet<string> = new Set(['functionResponse', 'codeExecutionResult', 'toolResponse']);

function isUnreadable(place: TextPlace): boolean {
  const { owner, name } = place;
  const isInTool = owner?.memberName === 'tools' && owner.owner?.isRoot === true;
  return isInTool && !place.isOfList && name !== 'functionDeclarations';
}

const snakeLetter = /_([a-z])/g;

function camelCase(name: string): string {
  return name.includes('_')
    ? name.replaceAll(snakeLetter, (_, letter: string) => letter.toUpperCase())
    : name;
}

function candidateKey({ key }: TextPlace): string {
  return /^candidates\[\d+\]/.exec(key)?.[0] ?? '';
}

/** Members of a candidate, whole in one frame. */
const wholeMembers = /^candidates\[\d+\]\.(?:groundingMetadata|citationMetadata|urlContextMetadata)\./;

const partText = /^candidates\[\d+\]\.content\.parts\[\d+\]\.text$/;

/** The texts of frames. A text goes on in the first part of the next frame. */
const frame: FrameRules = {
  ...answer,
  citations: {
    offsets: new Set(['startIndex', 'endIndex']),
    unit: 'bytes',
    excerpt: 'text',
    textKey: (place) => `${candidateKey(place)}.text`,
  },
  channelOf: ({ place, key }) => {
    if (partText.test(key))
      return { key: `${candidateKey(place)}.${place.sign('thought') === 'true' ? 'thought' : 'text'}` };
    return { key, isApart: wholeMembers.test(key) };
  },
  endedKeys: (place) =>
    place.memberName === 'candidates' && hasFinished({ finishReason: place.sign('finishReason') })
      ? place.key
      : null,
  signedKeys: (place) => [`${candidateKey(place)}.thought`],
};

export const texts: TextFormat = { request, answer, frame };
