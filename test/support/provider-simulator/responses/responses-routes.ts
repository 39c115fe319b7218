import type { Answer } from '../answer-format.ts';
import type { Route, RouteContext } from '../route.ts';
import { charged } from './response-usage.ts';
import { answerResponses } from './responses-answer.ts';
import { readResponsesRequest } from './responses-request.ts';
import { responseBody, responseFrames } from './responses-wire.ts';

/** OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses. */
export const responsesRoutes: Record<string, Route> = { 'POST /v1/responses': answerResponse };

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
