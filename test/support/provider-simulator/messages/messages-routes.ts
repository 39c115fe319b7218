import type { Answer } from '../answer-format.ts';
import type { Route, RouteContext } from '../route.ts';
import { countTokens, inputSegments } from './input-segments.ts';
import { checkVersion, readBody } from './request-body.ts';

/** Anthropic's Messages API: https://platform.claude.com/docs/en/api/messages. */
export const messagesRoutes: Record<string, Route> = {
  'POST /v1/messages/count_tokens': countInputTokens,
};

/** Counts without charge. */
function countInputTokens({ exchange }: RouteContext): Answer {
  checkVersion(exchange.record.headers['anthropic-version']);
  const tokens = countTokens(inputSegments(readBody(exchange.record.body)));
  const whole = (): string => JSON.stringify({ input_tokens: tokens });
  return { id: null, usage: null, streamed: false, frames: null, whole };
}
