import { countedMembers, type TranslatedApi } from '../translation/api.ts';
import { readAnswer } from './answer-reader.ts';
import { writeAnswer } from './answer-writer.ts';
import { echoedFields } from './echoed-fields.ts';
import { withTooLongCode } from '../translation/too-long.ts';
import { ResponseSource } from './event-source.ts';
import { ResponseWriter } from './event-writer.ts';
import { fieldNames, readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';
import { SummaryWriter, writeSummary } from './summary-writer.ts';

const counted = [
  ...['model', 'input', 'instructions', 'reasoning', 'text'],
  ...['tools', 'tool_choice', 'parallel_tool_calls'],
];

/** OpenAI's responses. */
export const openAiResponsesTranslation = {
  thoughtIds: null,
  signaturePlace: '`encrypted_content` of a `reasoning` item',
  ...{ fieldNames, readRequest, writeRequest, readAnswer, writeAnswer, echoedFields },
  formatError: withTooLongCode,
  eventSource: (facts) => new ResponseSource(facts),
  eventWriter: (echoed) => new ResponseWriter(echoed),
  counts: { request: (request) => countedMembers(request, counted), tokens: 'input_tokens' },
  summaries: (seal) => ({
    writeAnswer: (answer) => writeSummary(answer, seal),
    eventWriter: () => new SummaryWriter(seal),
  }),
} satisfies TranslatedApi;
