import type { Fields } from '@gatehouse/kit/fields';
import { isNamed, memberIn, numberOf } from './fields.ts';
import {
  type Conversation,
  type OutputFormat,
  type Reasoning,
  type Tool,
  type ToolChoice,
  efforts,
  type Effort,
} from '../translation/conversation.ts';
import { stopIn, textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import {
  usualNames,
  type FieldNames,
  type DroppedFields,
  type Members,
} from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { elementsIn, membersOf, readContents, readSystem } from './content-reader.ts';
import { asJsonSchema } from './schema.ts';

const config = 'generationConfig';

export const fieldNames: FieldNames = {
  ...usualNames,
  ...{ choice: 'toolConfig', parallel: 'toolConfig', strict: 'tools' },
  ...{ maxTokens: `${config}.maxOutputTokens`, stop: `${config}.stopSequences`, topK: `${config}.topK` },
  ...{ temperature: `${config}.temperature`, topP: `${config}.topP`, seed: `${config}.seed` },
  ...{ presencePenalty: `${config}.presencePenalty`, frequencyPenalty: `${config}.frequencyPenalty` },
  ...{ output: `${config}.responseMimeType`, strictOutput: `${config}.responseSchema` },
  ...{ outputSchema: `${config}.responseSchema`, toolSchema: 'tools.functionDeclarations.parameters' },
  ...{ reasoning: `${config}.thinkingConfig`, turns: 'contents' },
};

const translated = [
  ...(['contents', 'systemInstruction', 'tools', 'toolConfig', config, 'model', 'cachedContent'] as const),
];
const translatedOfConfig = [
  ...([
    'temperature',
    'topP',
    'topK',
    'maxOutputTokens',
    'stopSequences',
    'seed',
    'presencePenalty',
  ] as const),
  ...(['frequencyPenalty', 'responseMimeType', 'responseSchema', 'responseJsonSchema'] as const),
  ...(['thinkingConfig', 'candidateCount', 'responseModalities', 'responseLogprobs'] as const),
];

type GenerationFields = Members<(typeof translated)[number]>;
type Config = Members<(typeof translatedOfConfig)[number]>;

/** Values asking for nothing, of fields of the configuration with effect on the meaning of the answer. */
const harmless = {
  candidateCount: (value: unknown) => value === 1 || value === '1',
  responseLogprobs: (value: unknown) => value === false,
  responseModalities: (value: unknown) => elementsIn(value).every((each) => each === 'TEXT'),
};

/** See `ClientFormat`. Whether the answer is a stream stands in the path. */
export function* readRequest(
  fields: Fields,
  source: JsonSource,
  dropped: DroppedFields,
): Steps<Conversation> {
  const request = membersOf(fields, { path: '', names: translated, dropped });
  if (request.cachedContent !== undefined)
    throw dropped.unsupportedParameter('cachedContent', 'It is known to its provider alone.');
  const generation = configOf(request, dropped);
  const system = readSystem(request.systemInstruction, dropped);
  const { choice, allowed } = choiceOf(request.toolConfig, dropped);
  const turns = yield* readContents(fields, source, dropped);
  const tools = yield* toolsOf(request, source, dropped);
  return {
    turns: system.length === 0 ? turns : [{ role: 'system', parts: system }, ...turns],
    tools: tools.filter(({ name }) => allowed?.has(name) !== false),
    choice,
    parallel: null,
    maxTokens: numberOf(generation.maxOutputTokens),
    stop: stopIn(generation.stopSequences, `${config}.stopSequences`, dropped),
    sampling: {
      temperature: numberOf(generation.temperature),
      topP: numberOf(generation.topP),
      topK: numberOf(generation.topK),
      seed: numberOf(generation.seed),
      presencePenalty: numberOf(generation.presencePenalty),
      frequencyPenalty: numberOf(generation.frequencyPenalty),
    },
    output: yield* outputOf(generation, source, dropped),
    reasoning: reasoningOf(generation.thinkingConfig, dropped),
    stream: false,
  };
}

function configOf(request: GenerationFields, dropped: DroppedFields): Config {
  const generation = membersOf(request.generationConfig ?? {}, {
    path: config,
    names: translatedOfConfig,
    dropped,
  });
  for (const [name, isHarmless] of Object.entries(harmless) as [
    keyof typeof harmless,
    (value: unknown) => boolean,
  ][])
    if (generation[name] !== undefined && !isHarmless(generation[name]))
      throw dropped.unsupportedParameter(`${config}.${name}`);
  return generation;
}

function* toolsOf(request: GenerationFields, source: JsonSource, dropped: DroppedFields): Steps<Tool[]> {
  const from = source.member('tools');
  const tools: Tool[] = [];
  for (const [index, tool] of elementsIn(request.tools).entries()) {
    for (const [name, value] of Object.entries(Object(tool) as Fields))
      if (!isNamed(name, 'functionDeclarations') && value !== null)
        throw dropped.unsupportedParameter(`tools[${index}].${name}`, 'Only its own provider has this tool.');
    const declarations = memberIn(from?.element(index) ?? null, 'functionDeclarations');
    const { functionDeclarations } = membersOf(tool, {
      path: 'tools',
      names: ['functionDeclarations'],
      dropped,
    });
    for (const [place, declared] of elementsIn(functionDeclarations).entries()) {
      tools.push(yield* declarationOf(declared, declarations?.element(place) ?? null, dropped));
      yield;
    }
  }
  return tools;
}

const declarationNames = ['name', 'description', 'parameters', 'parametersJsonSchema'] as const;

function* declarationOf(
  declaration: unknown,
  source: JsonSource | null,
  dropped: DroppedFields,
): Steps<Tool> {
  const path = 'tools.functionDeclarations';
  const declared = membersOf(declaration, { path, names: declarationNames, dropped });
  const schema = source?.textOf('parametersJsonSchema') ?? source?.textOf('parameters_json_schema') ?? null;
  const old = source?.textOf('parameters') ?? null;
  return {
    ...{ name: textOf(declared.name), namespace: null, description: textIn(declared.description) },
    schemaJson: schema ?? (yield* olderSchema(old)),
    ...{ isFreeform: false, isStrict: null },
  };
}

/** A schema in Google's older form; null without one. */
function* olderSchema(schemaJson: string | null): Steps<string | null> {
  return schemaJson === null || schemaJson === 'null' ? null : yield* asJsonSchema(schemaJson);
}

function choiceOf(
  toolConfig: unknown,
  dropped: DroppedFields,
): { choice: ToolChoice | null; allowed: ReadonlySet<string> | null } {
  const path = 'toolConfig';
  const { functionCallingConfig: calling } = membersOf(toolConfig ?? {}, {
    ...{ path, dropped, names: ['functionCallingConfig'] },
  });
  const callingMode = membersOf(calling ?? {}, {
    ...{ path: `${path}.functionCallingConfig`, dropped, names: ['mode', 'allowedFunctionNames'] },
  });
  const mode = textOf(callingMode.mode).toUpperCase();
  const names = elementsIn(callingMode.allowedFunctionNames).filter((name) => typeof name === 'string');
  const [only] = names;
  const allowed = names.length === 0 ? null : new Set(names);
  // Calls are not held to their schemas elsewhere.
  if (mode === 'VALIDATED') dropped.ignore(`${path}.functionCallingConfig.mode`);
  if (mode === 'NONE') return { choice: 'none', allowed: null };
  if (mode === '' || mode === 'MODE_UNSPECIFIED') return { choice: null, allowed };
  if (mode === 'AUTO' || mode === 'VALIDATED') return { choice: 'auto', allowed };
  if (mode !== 'ANY') throw dropped.unsupportedParameter(`${path}.functionCallingConfig.mode`);
  // One name leaves the others defined.
  if (names.length === 1 && only !== undefined)
    return { choice: { name: only, namespace: null }, allowed: null };
  return { choice: 'required', allowed };
}

function* outputOf(
  generation: Config,
  source: JsonSource,
  dropped: DroppedFields,
): Steps<OutputFormat | null> {
  const mime = generation.responseMimeType ?? 'text/plain';
  if (mime !== 'text/plain' && mime !== 'application/json')
    throw dropped.unsupportedParameter(`${config}.responseMimeType`);
  const from = memberIn(source, config);
  const schema = from?.textOf('responseJsonSchema') ?? from?.textOf('response_json_schema') ?? null;
  const old = from?.textOf('responseSchema') ?? from?.textOf('response_schema') ?? null;
  const schemaJson = schema ?? (yield* olderSchema(old));
  if (schemaJson !== null) return { kind: 'schema', name: null, schemaJson, isStrict: true };
  return mime === 'application/json' ? { kind: 'json' } : null;
}

function reasoningOf(thinking: unknown, dropped: DroppedFields): Reasoning | null {
  const path = `${config}.thinkingConfig`;
  const names = ['thinkingBudget', 'thinkingLevel', 'includeThoughts'] as const;
  const thinkingConfig = membersOf(thinking ?? {}, { path, names, dropped });
  const budget = numberOf(thinkingConfig.thinkingBudget);
  const level = textOf(thinkingConfig.thinkingLevel).toLowerCase();
  const isLevel = efforts.includes(level as Effort);
  if (thinkingConfig.thinkingLevel !== undefined && !isLevel) dropped.ignore(`${path}.thinkingLevel`);
  // Thoughts are shown wherever a model is asked to think.
  const isAsked = budget !== null || isLevel;
  if (thinkingConfig.includeThoughts !== undefined && thinkingConfig.includeThoughts !== isAsked)
    dropped.ignore(`${path}.includeThoughts`);
  if (!isAsked) return null;
  return {
    isOn: budget !== 0,
    effort: isLevel ? (level as Effort) : null,
    budget: budget !== null && budget > 0 ? budget : null,
  };
}
