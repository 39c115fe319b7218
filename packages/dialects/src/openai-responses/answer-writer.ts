import type { Fields } from '@gatehouse/kit/fields';
import type { Answer, AnswerPart, Stop, StopReason } from '../translation/answer.ts';
import { now } from '../openai-chat/answer-writer.ts';
import { chatIds, fittingId } from '../translation/call-ids.ts';
import { writeJson } from '../wire/json-text.ts';
import { markedSignature } from '../translation/signatures.ts';
import type { Usage } from '../usage/usage.ts';
import { writeUsage as writeChatUsage } from '../openai-chat/usage.ts';

/** See `ClientFormat`. */
export function writeAnswer(answer: Answer, echoed: Fields = {}): string {
  const outputOf = (id: string): Fields[] =>
    answer.parts.map((part, index) => itemOf(part, itemId(id, part, index)));
  return writeResponse(answer, outputOf, echoed);
}

/**
 * An answer with other items. `outputOf`: the items of the response with an id. `echoed`: fields of the request for the
 * echo in responses.
 */
export function writeResponse(
  answer: Answer,
  outputOf: (id: string) => Fields[],
  echoed: Fields = {},
): string {
  const { usage, serviceTier } = answer;
  const id = idOf(answer.id);
  return writeJson({
    ...responseHead(id, answer.model, now()),
    ...echoed,
    ...statusOf(
      answer.stop,
      answer.parts.some(({ kind }) => kind === 'refusal'),
    ),
    output: outputOf(id),
    usage: usage === null ? null : writeUsage(usage),
    ...(serviceTier !== null && { service_tier: serviceTier }),
  });
}

/** The members of a response from its beginning; those of its request have their defaults. */
export function responseHead(id: string, model: string, created: number): Fields {
  return {
    ...{ id, object: 'response', created_at: created, status: 'in_progress', error: null },
    ...{ incomplete_details: null, instructions: null, max_output_tokens: null, metadata: {}, model },
    ...{ output: [], parallel_tool_calls: true, previous_response_id: null, store: false },
    ...{ temperature: null, text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [], top_p: null },
    ...{ truncation: 'disabled', usage: null },
  };
}

/** `hasRefusal`: whether the answer contains its refusal, so it is a complete one. */
export function statusOf({ reason }: Stop, hasRefusal: boolean): Fields {
  const why = reason === 'refusal' && hasRefusal ? undefined : incomplete[reason];
  return why === undefined
    ? { status: 'completed' }
    : { status: 'incomplete', incomplete_details: { reason: why } };
}

const incomplete: Readonly<Partial<Record<StopReason, string>>> = {
  ...{ length: 'max_output_tokens', context: 'max_output_tokens', pause: 'max_output_tokens' },
  refusal: 'content_filter',
};

export function idOf(id: string): string {
  return id.startsWith('resp_') ? id : `resp_${id.replace(/^(?:chatcmpl-|msg_)/, '')}`;
}

/** The traits of a part that decide the type of its item. */
interface ItemKind {
  kind: AnswerPart['kind'];
  isFreeform?: boolean;
}

const prefixes = { text: 'msg', refusal: 'msg', thinking: 'rs', call: 'fc' } as const;

/**
 * The id of an item: of the response's own, so it is the same in each event. OpenAI refuses it without the letters of the
 * item's type (https://github.com/openai/codex/issues/40039).
 */
export function itemId(id: string, part: ItemKind, index: number): string {
  const prefix = part.isFreeform === true ? 'ctc' : prefixes[part.kind];
  return `${prefix}_${id.slice('resp_'.length)}_${index}`;
}

/** The complete item of a part. */
export function itemOf(part: AnswerPart, id: string): Fields {
  const status = 'completed';
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { id, type: 'message', status, role: 'assistant', content: [contentPart(part.kind, part.text)] };
    case 'thinking': {
      const { text, signature } = part;
      const summary = text === '' ? [] : [{ type: 'summary_text', text }];
      const signed = signature !== null && { encrypted_content: markedSignature(signature) };
      return { id, type: 'reasoning', summary, ...signed };
    }
    case 'call': {
      const { name, namespace, argumentsText, isFreeform } = part;
      const called = { call_id: fittingId(part.id, chatIds), name, ...(namespace !== null && { namespace }) };
      return isFreeform
        ? { id, type: 'custom_tool_call', status, ...called, input: argumentsText }
        : { id, type: 'function_call', status, ...called, arguments: argumentsText };
    }
  }
}

function contentPart(kind: 'text' | 'refusal', text: string): Fields {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** Usage as OpenAI writes it in responses, with all classes of tokens. */
export function writeUsage(usage: Usage): Fields {
  const {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    prompt_tokens_details: input_tokens_details,
    completion_tokens_details: output_tokens_details,
    ...others
  } = writeChatUsage(usage);
  return { input_tokens, input_tokens_details, output_tokens, output_tokens_details, ...others };
}
