import type { Fault } from '../faults.ts';
import type { Frame } from '../frame.ts';
import type { JsonObject } from '../values.ts';
import { itemEvents, itemOf } from './item-wire.ts';
import type { ItemEvent } from './item-wire.ts';
import type { ResponseAnswer } from './responses-answer.ts';

/** The body of a unary response, without `usage` if the fault hides it. */
export function responseBody(answer: ResponseAnswer, fault: Fault): string {
  return JSON.stringify(finished(answer, fault));
}

/** The events of a streamed response in order, numbered from 0. The last one has the whole response with its usage. */
export function responseFrames(answer: ResponseAnswer, fault: Fault): Frame[] {
  const begun = responseOf(answer, { status: 'in_progress', service_tier: 'auto' });
  const last = answer.complete ? 'response.completed' : 'response.incomplete';
  const events: ItemEvent[] = [
    { kind: 'opening', type: 'response.created', fields: { response: begun } },
    { kind: 'opening', type: 'response.in_progress', fields: { response: begun } },
    ...answer.output.flatMap((item, index) => itemEvents(item, index)),
    { kind: 'done', type: last, fields: { response: finished(answer, fault) } },
  ];
  return events.map(({ kind, type, fields }, sequence_number) => ({
    kind,
    event: type,
    data: JSON.stringify({ type, sequence_number, ...fields }),
    carriesUsage: kind === 'done' && fault.no_usage !== true,
  }));
}

function finished(answer: ResponseAnswer, fault: Fault): JsonObject {
  return responseOf(answer, {
    status: answer.complete ? 'completed' : 'incomplete',
    completed_at: answer.complete ? answer.createdAt : null,
    incomplete_details: answer.complete ? null : { reason: 'max_output_tokens' },
    output: answer.output.map(itemOf),
    usage: fault.no_usage === true ? null : answer.usage,
  });
}

/** A response object: the parameters as they were sent or by default, and what has become of it. */
function responseOf({ id, createdAt, model, asked }: ResponseAnswer, fields: JsonObject): JsonObject {
  const given = (name: string, otherwise: unknown): unknown => asked[name] ?? otherwise;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: null,
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: given('instructions', null),
    max_output_tokens: given('max_output_tokens', null),
    max_tool_calls: given('max_tool_calls', null),
    model,
    output: [],
    parallel_tool_calls: given('parallel_tool_calls', true),
    previous_response_id: null,
    prompt_cache_key: given('prompt_cache_key', null),
    prompt_cache_retention: given('prompt_cache_retention', null),
    reasoning: { effort: null, summary: null, ...(given('reasoning', {}) as JsonObject) }, // checked to be an object
    safety_identifier: given('safety_identifier', null),
    service_tier: 'default',
    store: given('store', true),
    temperature: given('temperature', 1),
    text: { format: { type: 'text' }, verbosity: 'medium', ...(given('text', {}) as JsonObject) }, // checked likewise
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
    usage: null,
    user: given('user', null),
    metadata: given('metadata', {}),
    ...fields,
  };
}
