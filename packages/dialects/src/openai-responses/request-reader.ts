import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import {
  type Conversation,
  type OutputFormat,
  type Reasoning,
  type ToolChoice,
  efforts,
  noSampling,
  type Effort,
} from '../translation/conversation.ts';
import { booleanIn, numberIn, textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { usualNames, type FieldNames, type DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { readInput } from './input-reader.ts';
import { readTools } from './tool-reader.ts';
import { withFinalPoint } from '../translation/cache-points.ts';

export const fieldNames: FieldNames = {
  ...usualNames,
  ...{ maxTokens: 'max_output_tokens', output: 'text.format', strictOutput: 'text.format.strict' },
  ...{ outputSchema: 'text.format.schema', turns: 'input' },
};

/** Translated fields. All others are hints, but for the refused ones. */
const translated = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_output_tokens'],
  ...['temperature', 'top_p', 'text', 'reasoning', 'stream'],
];

/** Values asking for nothing, of fields with effect on the meaning of the answer. */
const harmless: Readonly<Record<string, (value: unknown) => boolean>> = {
  background: (value) => value === false,
  conversation: () => false,
  previous_response_id: () => false,
  prompt: () => false,
  top_logprobs: (value) => value === 0,
};

const encryptedReasoning = 'reasoning.encrypted_content';

/** See `ClientFormat`. */
export function* readRequest(
  request: Fields,
  source: JsonSource,
  dropped: DroppedFields,
): Steps<Conversation> {
  const fields: Fields = fieldsOf(request, dropped);
  const { choice, allowed } = choiceOf(fields['tool_choice'], dropped);
  const instructions = textIn(fields['instructions']);
  const turns = withFinalPoint(yield* readInput(fields['input'], dropped), request);
  const tools = yield* readTools(fields, source, dropped);
  return {
    turns: instructions
      ? [{ role: 'system', parts: [{ kind: 'text', text: instructions }] }, ...turns]
      : turns,
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: booleanIn(fields['parallel_tool_calls']),
    maxTokens: numberIn(fields['max_output_tokens']),
    stop: [],
    sampling: {
      ...noSampling,
      temperature: numberIn(fields['temperature']),
      topP: numberIn(fields['top_p']),
    },
    output: outputOf(fields['text'], source, dropped),
    reasoning: reasoningOf(fields['reasoning'], dropped),
    stream: fields['stream'] === true,
  };
}

function fieldsOf(request: Fields, dropped: DroppedFields): Fields {
  for (const [name, isHarmless] of Object.entries(harmless))
    if ((request[name] ?? null) !== null && !isHarmless(request[name]))
      throw dropped.unsupportedParameter(name);
  const fields = dropped.members(request, '', [...translated, ...Object.keys(harmless), 'include', 'store']);
  // Encrypted thoughts are always in the answer, and responses of providers are never stored.
  if (listOf(fields['include']).some((each) => each !== encryptedReasoning)) dropped.ignore('include');
  if ((fields['store'] ?? false) !== false) dropped.ignore('store');
  return fields;
}

/** `allowed`: names of the callable tools, where not all may be called. */
function choiceOf(
  choice: unknown,
  dropped: DroppedFields,
): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { choice, allowed: null };
  if (choice === undefined) return { choice: null, allowed: null };
  if (!isFields(choice)) throw dropped.unsupportedParameter('tool_choice');
  const members = ['type', 'name', 'mode', 'tools', 'namespace'] as const;
  const { type, name, mode, tools, namespace } = dropped.members(choice, 'tool_choice', members);
  if (type === 'allowed_tools') {
    const names = listOf(tools).map((tool) =>
      textOf(dropped.members(tool, 'tool_choice.tools', ['type', 'name']).name),
    );
    return { choice: mode === 'required' ? 'required' : 'auto', allowed: new Set(names) };
  }
  if ((type !== 'function' && type !== 'custom') || typeof name !== 'string')
    throw dropped.unsupportedParameter('tool_choice.type');
  return { choice: { name, namespace: textIn(namespace) }, allowed: null };
}

function outputOf(text: unknown, source: JsonSource, dropped: DroppedFields): OutputFormat | null {
  const { format } = dropped.members(text ?? {}, 'text', ['format']);
  const names = ['type', 'name', 'strict', 'schema'] as const;
  const { type, name, strict } = dropped.members(format ?? {}, 'text.format', names);
  if (type === undefined || type === 'text') return null;
  if (type === 'json_object') return { kind: 'json' };
  const schemaJson = source.member('text')?.member('format')?.textOf('schema');
  if (type !== 'json_schema' || typeof schemaJson !== 'string')
    throw dropped.unsupportedParameter('text.format.type');
  return { kind: 'schema', name: textIn(name), schemaJson, isStrict: booleanIn(strict) };
}

function reasoningOf(reasoning: unknown, dropped: DroppedFields): Reasoning | null {
  const { effort } = dropped.members(reasoning ?? {}, 'reasoning', ['effort']);
  if (effort === undefined) return null;
  if (!efforts.includes(effort as Effort)) {
    dropped.ignore('reasoning.effort');
    return null;
  }
  return { isOn: effort !== 'none', effort: effort as Effort, budget: null };
}
