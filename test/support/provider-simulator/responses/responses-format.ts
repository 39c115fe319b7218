import { openAiFormat } from '../answer-format.ts';
import type { AnswerFormat } from '../answer-format.ts';
import type { WireError } from '../errors.ts';
import type { Frame } from '../frame.ts';
import { isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** The shapes of OpenAI's Responses API: those of its other APIs, with errors of its own inside streams. */
export const responsesFormat: AnswerFormat = { ...openAiFormat, errorEvents };

/** An `error`, then the response that has failed. */
function errorEvents(error: WireError, sent: readonly Frame[]): Pick<Frame, 'event' | 'data'>[] {
  const { message, code, param } = error;
  const [first] = sent;
  const events = [
    { type: 'error', code, message, param },
    {
      type: 'response.failed',
      response: { ...begunIn(first), status: 'failed', error: { code: code ?? 'server_error', message } },
    },
  ];
  return events.map((event, index) => ({
    event: event.type,
    data: JSON.stringify({ ...event, sequence_number: sent.length + index }),
  }));
}

function begunIn(first: Frame | undefined): JsonObject {
  const event: unknown = JSON.parse(first?.data ?? '{}');
  return isObject(event) && isObject(event['response']) ? event['response'] : {};
}
