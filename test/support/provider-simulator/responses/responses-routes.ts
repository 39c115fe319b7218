import type { Answer } from '../answer-format.ts';
import type { Route, RouteContext } from '../route.ts';
import { charged } from './response-usage.ts';
import { answerResponses } from './responses-answer.ts';
import { readResponsesRequest } from './responses-request.ts';
import { objectsIn, type JsonObject } from '../values.ts';
import { readBody } from './request-checks.ts';
import { responseBody, responseFrames } from './responses-wire.ts';

/** OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses. */
export const responsesRoutes: Record<string, Route> = {
  'POST /v1/responses': answerResponse,
  'POST /v1/responses/compact': compact,
  'POST /v1/responses/input_tokens': countInputTokens,
};

function answerResponse(context: RouteContext): Answer {
  const { exchange, fault, signer } = context;
  const request = readResponsesRequest(exchange.record.body, signer);
  const answer = answerResponses(request, fault, context);
  return {
    id: answer.id,
    usage: charged(answer.usage),
    streamed: request.stream,
    frames: () => responseFrames(answer, fault),
    whole: () => responseBody(answer, fault),
  };
}

/** The messages of the user, and what a request with `compaction_trigger` returns. */
function compact(context: RouteContext): Answer {
  const { exchange, fault, signer } = context;
  const body = readBody(exchange.record.body);
  const { input } = body;
  const given = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsIn(input);
  const request = readResponsesRequest(
    { ...body, input: [...given, { type: 'compaction_trigger' }] },
    signer,
  );
  const answer = answerResponses(request, fault, context);
  return {
    id: answer.id,
    usage: charged(answer.usage),
    streamed: false,
    frames: null,
    whole: () => {
      const { id, created_at, output, usage } = JSON.parse(responseBody(answer, fault)) as JsonObject;
      const said = given.filter(({ role }) => role === 'user');
      const items = [...said, ...objectsIn(output)];
      return JSON.stringify({ id, object: 'response.compaction', created_at, output: items, usage });
    },
  };
}

/** Counts without charge. */
function countInputTokens({ exchange, signer }: RouteContext): Answer {
  const { inputTokens } = readResponsesRequest(exchange.record.body, signer);
  const whole = (): string => JSON.stringify({ object: 'response.input_tokens', input_tokens: inputTokens });
  return { id: null, usage: null, streamed: false, frames: null, whole };
}
