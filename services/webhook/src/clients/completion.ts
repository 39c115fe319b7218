import { AppError } from '@gatehouse/kit/errors';
import { z } from 'zod';

export interface Question {
  /** The id of the call: a repeat gets the stored answer. */
  callId: string;
  /** The question's way in, like `webhook`. */
  channel: string;
  /** Whether several people read the answer: memory of the agent counts, memory of the user does not. */
  group?: boolean;
  sessionId: string | null;
  /** An OpenAI chat completion request without a model. */
  requestJson: string;
}

/** The agent's answer, as the sender gets it. */
export interface Result {
  output: string | null;
  finish_reason: string | null;
  usage: Record<string, unknown> | null;
  trace_id: string;
}

/** An agent's answer. */
export interface AgentResponse {
  runId: string;
  result: Result;
}

type AgentMessage = z.output<typeof completion>['choices'][number]['message'];

const completion = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
      }),
    )
    .min(1),
  usage: z.record(z.string(), z.unknown()).nullish(),
});

/** The provider's answer has no text to take as the result. It is stored, so a repeat gets the same. */
class UnreadableAnswer extends AppError {
  constructor(cause: unknown) {
    super('provider_invalid_response', "The provider's answer has no choice with a text.", { cause });
  }
}

/** Throws `UnreadableAnswer`. */
export function readCompletion(json: string): z.output<typeof completion> {
  try {
    return completion.parse(JSON.parse(json));
  } catch (error) {
    throw new UnreadableAnswer(error);
  }
}

/** The words of a message: its text, and a refusal behind it. Null without either. */
export function textOf({ content, refusal }: AgentMessage): string | null {
  const texts = [content, refusal].filter((text) => typeof text === 'string' && text !== '');
  return texts.length === 0 ? (content ?? null) : texts.join('\n\n');
}

/**
 * Whether a later attempt may succeed: outages, interrupted calls, limits, suspension, and trouble of the provider. An
 * unreadable answer stays as it is.
 */
export function isTemporary(error: AppError): boolean {
  const { status, code } = error;
  if (error instanceof UnreadableAnswer) return false;
  if (code === 'tenant_suspended' || code === 'client_closed_request') return true;
  return status >= 500 || (status === 429 && code !== 'insufficient_quota');
}
