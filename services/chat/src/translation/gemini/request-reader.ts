import { listOf, type Fields } from '@gatehouse/kit/fields';
import { isNamed, objectIn, objectsIn, textOf, valueOf } from '../../dialects/gemini/fields.ts';
import type { Conversation, OutputFormat, Reasoning, Tool, ToolChoice } from '../conversation.ts';
import { efforts, type Effort } from '../conversation.ts';
import { numberIn, textIn, textsIn } from '../fields.ts';
import type { JsonSource } from '../json-text.ts';
import type { FieldNames, LeftOut } from '../left-out.ts';
import type { Steps } from '../steps.ts';
import { memberOf, readContents, readSystem } from './content-reader.ts';
import { asJsonSchema } from './schema.ts';

const config = 'generationConfig';

export const fieldNames: FieldNames = {
  choice: 'toolConfig',
  parallel: 'toolConfig',
  maxTokens: `${config}.maxOutputTokens`,
  stop: `${config}.stopSequences`,
  temperature: `${config}.temperature`,
  topP: `${config}.topP`,
  topK: `${config}.topK`,
  seed: `${config}.seed`,
  presencePenalty: `${config}.presencePenalty`,
  frequencyPenalty: `${config}.frequencyPenalty`,
  output: `${config}.responseMimeType`,
  reasoning: `${config}.thinkingConfig`,
  strict: 'tools',
  tools: 'tools',
};

const translated = ['contents', 'systemInstruction', 'tools', 'toolConfig', config, 'model'];
const translatedOfConfig = [
  ...['temperature', 'topP', 'topK', 'maxOutputTokens', 'stopSequences', 'seed', 'presencePenalty'],
  ...['frequencyPenalty', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'thinkingConfig'],
  ...['candidateCount', 'responseModalities', 'responseLogprobs'],
];

/** Values of fields of the configuration that decide the meaning of the answer, as far as they ask for nothing. */
const harmless: Readonly<Record<string, (value: unknown) => boolean>> = {
  candidateCount: (value) => value === 1,
  responseLogprobs: (value) => value === false,
  responseModalities: (value) => listOf(value).every((each) => each === 'TEXT'),
};

/** See `RequestApi`. Whether the answer is a stream stands in the path. */
export function* readRequest(fields: Fields, source: JsonSource, left: LeftOut): Steps<Conversation> {
  const given = objectIn(fields, config);
  noteFields(fields, given, left);
  const number = (name: string): number | null => numberIn(valueOf(given, name));
  const system = readSystem(valueOf(fields, 'systemInstruction'), left);
  const { choice, allowed } = choiceOf(objectIn(objectIn(fields, 'toolConfig'), 'functionCallingConfig'));
  const turns = yield* readContents(fields, source, left);
  const tools = yield* toolsOf(fields, source, left);
  return {
    turns: system.length === 0 ? turns : [{ role: 'system', parts: system }, ...turns],
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: null,
    maxTokens: number('maxOutputTokens'),
    stop: textsIn(valueOf(given, 'stopSequences')),
    sampling: {
      ...{
        temperature: number('temperature'),
        topP: number('topP'),
        topK: number('topK'),
        seed: number('seed'),
      },
      ...{ presencePenalty: number('presencePenalty'), frequencyPenalty: number('frequencyPenalty') },
    },
    output: outputOf(given, source),
    reasoning: reasoningOf(objectIn(given, 'thinkingConfig')),
    stream: false,
  };
}

function noteFields(fields: Fields, given: Fields, left: LeftOut): void {
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || translated.some((each) => isNamed(name, each))) continue;
    if (isNamed(name, 'cachedContent'))
      throw left.refused('cachedContent', 'It is known to its provider alone.');
    left.ignore(name);
  }
  for (const [name, value] of Object.entries(given)) {
    const known = translatedOfConfig.find((each) => isNamed(name, each));
    const isHarmless = known === undefined ? undefined : harmless[known];
    if (value === null) continue;
    if (isHarmless?.(value) === false) throw left.refused(`${config}.${String(known)}`);
    if (known === undefined) left.ignore(`${config}.${name}`);
  }
}

function* toolsOf(fields: Fields, source: JsonSource, left: LeftOut): Steps<Tool[]> {
  const from = source.member('tools');
  const tools: Tool[] = [];
  for (const [index, tool] of objectsIn(fields, 'tools').entries()) {
    for (const [name, value] of Object.entries(tool))
      if (!isNamed(name, 'functionDeclarations') && value !== null)
        throw left.refused(`tools[${index}].${name}`, 'Only its own provider has this tool.');
    const declarations = memberOf(from?.element(index) ?? null, 'functionDeclarations');
    for (const [place, declared] of objectsIn(tool, 'functionDeclarations').entries()) {
      tools.push(declarationOf(declared, declarations?.element(place) ?? null));
      yield;
    }
  }
  return tools;
}

function declarationOf(declared: Fields, source: JsonSource | null): Tool {
  const schema = source?.textOf('parametersJsonSchema') ?? source?.textOf('parameters_json_schema') ?? null;
  const old = source?.textOf('parameters') ?? null;
  return {
    ...{ name: textOf(declared['name']), namespace: null, description: textIn(declared['description']) },
    schemaJson: schema ?? (old === null || old === 'null' ? null : asJsonSchema(old)),
    ...{ isFreeform: false, isStrict: null },
  };
}

function choiceOf(config: Fields): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  const mode = textOf(config['mode']).toUpperCase();
  const names = textsIn(valueOf(config, 'allowedFunctionNames'));
  const [only] = names;
  const allowed = names.length === 0 ? null : new Set(names);
  if (mode === 'NONE') return { choice: 'none', allowed: null };
  if (mode !== 'ANY') return { choice: mode === '' ? null : 'auto', allowed };
  // One name leaves the others defined.
  if (names.length === 1 && only !== undefined)
    return { choice: { name: only, namespace: null }, allowed: null };
  return { choice: 'required', allowed };
}

function outputOf(given: Fields, source: JsonSource): OutputFormat | null {
  const from = memberOf(source, config);
  const schema = from?.textOf('responseJsonSchema') ?? from?.textOf('response_json_schema') ?? null;
  const old = from?.textOf('responseSchema') ?? from?.textOf('response_schema') ?? null;
  const schemaJson = schema ?? (old === null || old === 'null' ? null : asJsonSchema(old));
  if (schemaJson !== null) return { kind: 'schema', name: null, schemaJson, isStrict: true };
  return valueOf(given, 'responseMimeType') === 'application/json' ? { kind: 'json' } : null;
}

function reasoningOf(given: Fields): Reasoning | null {
  const budget = numberIn(valueOf(given, 'thinkingBudget'));
  const level = textOf(valueOf(given, 'thinkingLevel')).toLowerCase();
  const isLevel = efforts.includes(level as Effort);
  if (budget === null && !isLevel) return null;
  return {
    isOn: budget !== 0,
    effort: isLevel ? (level as Effort) : null,
    budget: budget !== null && budget > 0 ? budget : null,
  };
}
