import type { Fields } from '@gatehouse/kit/fields';
import { factsOf, thinksBy } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import { chatIds, withFittingIds } from '../translation/call-ids.ts';
import { schemaFormat, writtenEffort } from '../openai-chat/request-writer.ts';
import type { Conversation, OutputFormat, Tool } from '../translation/conversation.ts';
import { limitOf } from '../translation/limits.ts';
import { namingJson } from '../translation/json-output.ts';
import { RawJson } from '../wire/json-text.ts';
import { samplingBy, type DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { strictIn } from '../translation/strict-schema.ts';
import { filledItems } from './filled-input.ts';
import { writeInput } from './input-writer.ts';

/** See `ProviderFormat`. */
export function* writeRequest(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const { output, stream, tools, choice, parallel } = conversation;
  const limit = limitOf(conversation, facts, dropped);
  if (limit !== null && limit < leastTokens) dropped.ignoreField('maxTokens');
  const turns = yield* withFittingIds(yield* namingJson(conversation), chatIds);
  const { instructions, input } = yield* writeInput(turns, dropped);
  const effort = writtenEffort(conversation, facts, dropped);
  return {
    model: facts.name,
    ...(instructions !== '' && { instructions }),
    input: filledItems(input, facts.reasoningFill),
    // The API takes no fewer.
    ...(limit !== null && { max_output_tokens: Math.max(leastTokens, limit) }),
    ...samplingBy({ temperature: 'temperature', topP: 'top_p' }, conversation, {
      ...{ facts, dropped },
      isThinking: thinksBy(effort, factsOf(facts)),
    }),
    ...(tools.length > 0 && { tools: tools.map((tool) => writeTool(tool, dropped)) }),
    ...(tools.length > 0 && choice !== null && { tool_choice: choiceOf(choice) }),
    ...(tools.length > 0 && parallel !== null && { parallel_tool_calls: parallel }),
    ...(output !== null && { text: { format: formatOf(output, dropped) } }),
    // Thoughts come back encrypted, so they can go on in the next request.
    ...(facts.reasoning && { include: ['reasoning.encrypted_content'] }),
    ...(effort !== null && { reasoning: { effort } }),
    store: false,
    ...(stream && { stream }),
  };
}

const leastTokens = 16;

/** Functions are strict here unless they say otherwise. */
function writeTool({ name, description, schemaJson, isStrict }: Tool, dropped: DroppedFields): Fields {
  return {
    ...{ type: 'function', name },
    ...(description !== null && { description }),
    parameters: schemaJson === null ? { type: 'object', properties: {} } : new RawJson(schemaJson),
    strict: isStrict === true && strictIn(schemaJson ?? '{}', 'strict', dropped),
  };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name };
}

function formatOf(output: OutputFormat, dropped: DroppedFields): Fields {
  return output.kind === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', ...schemaFormat(output, dropped) };
}
