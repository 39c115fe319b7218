import type { Fields } from '@gatehouse/kit/fields';
import type { ThinkingSize } from '../known-facts.ts';
import { factsOf } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import { withFittingIds, type IdRule } from '../translation/call-ids.ts';
import type { Conversation, Tool } from '../translation/conversation.ts';
import { budgetOf, effortOf, lowToHigh } from '../translation/effort.ts';
import { RawJson } from '../wire/json-text.ts';
import { samplingBy, type DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { writeContents } from './content-writer.ts';

/** See `ProviderFormat`. The model, and whether the answer is a stream, stand in the path. */
export function* writeRequest(
  conversation: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const { tools, choice, parallel } = conversation;
  if (parallel === false) dropped.ignoreField('parallel');
  if (tools.some(({ isStrict }) => isStrict === true)) dropped.ignoreField('strict');
  const { system, contents } = yield* writeContents(yield* withFittingIds(conversation.turns, anyIds), {
    isThird: factsOf(facts).checksCallSignatures,
    dropped,
  });
  const config = configOf(conversation, facts, dropped);
  return {
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    contents,
    ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(declaration) }] }),
    ...(tools.length > 0 && choice !== null && { toolConfig: { functionCallingConfig: choiceOf(choice) } }),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  };
}

/** Ids are not written; results are found by them. */
const anyIds: IdRule = { fits: (id) => id !== '', prefix: 'call_' };

const samplingNames = {
  ...{ temperature: 'temperature', topP: 'topP', topK: 'topK', seed: 'seed' },
  ...{ presencePenalty: 'presencePenalty', frequencyPenalty: 'frequencyPenalty' },
};

function configOf(conversation: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  const { maxTokens, stop, output } = conversation;
  const limit = maxTokens === null ? null : Math.min(maxTokens, facts.maxOutputTokens ?? Infinity);
  return {
    ...samplingBy(samplingNames, conversation, { facts, dropped }),
    ...(limit !== null && { maxOutputTokens: limit }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(output !== null && { responseMimeType: 'application/json' }),
    ...(output?.kind === 'schema' && { responseJsonSchema: new RawJson(output.schemaJson) }),
    ...thinkingIn(conversation, facts, dropped),
  };
}

/** Gemini 3 takes a level, and models before it a budget, of which zero is off. */
function thinkingIn({ reasoning }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  if (reasoning === null) return {};
  if (!facts.reasoning) {
    if (reasoning.isOn) dropped.ignoreField('reasoning');
    return {};
  }
  const effort = effortOf(reasoning);
  const thoughtConfig = reasoning.isOn && { includeThoughts: true };
  const thinkingSize = sizeOf(facts);
  if (thinkingSize.by === 'effort')
    return {
      thinkingConfig: { ...thoughtConfig, ...(effort !== null && { thinkingLevel: lowToHigh(effort) }) },
    };
  const budget = effort === 'none' ? thinkingSize.off : budgetOf(reasoning);
  return {
    thinkingConfig: {
      ...thoughtConfig,
      ...(budget !== null && { thinkingBudget: Math.min(budget, thinkingSize.most) }),
    },
  };
}

/** Models of unknown name are taken for those before Gemini 3. */
function sizeOf(facts: ModelFacts): ThinkingSize {
  const { family, thinkingSize } = factsOf(facts);
  return family === 'gemini' ? thinkingSize : factsOf({ name: 'gemini-2.5-flash' }).thinkingSize;
}

function declaration({ name, description, schemaJson }: Tool): Fields {
  return {
    name,
    ...(description !== null && { description }),
    ...(schemaJson !== null && { parametersJsonSchema: new RawJson(schemaJson) }),
  };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): Fields {
  if (choice === 'required') return { mode: 'ANY' };
  if (typeof choice === 'string') return { mode: choice.toUpperCase() };
  return { mode: 'ANY', allowedFunctionNames: [choice.name] };
}
