import { countedMembers, type TranslatedApi } from '../translation/api.ts';
import { readAnswer } from './whole-answer.ts';
import { writeAnswer } from './answer-writer.ts';
import { withTooLongCode } from '../translation/too-long.ts';
import { ResponseSource } from './event-source.ts';
import { ResponseWriter } from './event-writer.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';
import { SummaryWriter, writeSummary } from './summary-writer.ts';
import type { Fields } from '@gatehouse/kit/fields';
import type { CutTexts } from '../wire/cut-texts.ts';
import { RawJson, type JsonSource } from '../wire/json-text.ts';
import { maxEchoedBytes } from '../bounds.ts';
import { cacheHint } from '../translation/cache-points.ts';
import { openAiOutput } from '../translation/schema/mended-schemas.ts';

const counted = [
  ...['model', 'input', 'instructions', 'reasoning', 'text'],
  ...['tools', 'tool_choice', 'parallel_tool_calls'],
];

/** OpenAI's responses. */
export const openAiResponsesTranslation = {
  thoughtIds: null,
  signaturePlace: '`encrypted_content` of a `reasoning` item',
  cacheHint,
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer, echoedFields },
  formatError: withTooLongCode,
  rules: (facts) => ({
    ...{ emptyTexts: 'no-character', system: 'anywhere', modelMedia: false, output: openAiOutput(facts) },
    stops: { most: 0, takesBlank: true },
  }),
  eventSource: (facts) => new ResponseSource(facts),
  eventWriter: (echoed) => new ResponseWriter(echoed),
  counts: { request: (request) => countedMembers(request, counted), tokens: 'input_tokens' },
  summaries: (seal) => ({
    writeAnswer: (answer) => writeSummary(answer, seal),
    eventWriter: () => new SummaryWriter(seal),
  }),
} satisfies TranslatedApi;

/** Fields of a request for the echo in its response. `ClientView` sets the ids of stored responses. */
const echoed = [
  ...['instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'temperature', 'top_p'],
  ...['max_output_tokens', 'reasoning', 'text', 'metadata', 'truncation', 'user', 'top_logprobs'],
];

/**
 * The fields of a request for the echo in its response, as the client wrote them. `text` gets the default format
 * without a format of its own. A field over the limit, counted together with those before it, is shown with its
 * default.
 */
function echoedFields(fields: Fields, source: JsonSource, texts: CutTexts): Fields {
  const values: Fields = {};
  let left = maxEchoedBytes;
  for (const name of echoed) {
    if ((fields[name] ?? null) === null) continue;
    const text = texts.uncutJson(source.textOf(name) ?? 'null', left);
    if (text === null) continue;
    left -= Buffer.byteLength(text);
    values[name] = new RawJson(withFormat(name, text));
  }
  return values;
}

function withFormat(name: string, text: string): string {
  const value = name === 'text' ? (Object(JSON.parse(text)) as Fields) : {};
  if (name !== 'text' || Object.hasOwn(value, 'format')) return text;
  return JSON.stringify({ format: { type: 'text' }, ...value });
}
