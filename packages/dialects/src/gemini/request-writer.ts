import type { Fields } from '@gatehouse/kit/fields';
import type { ThinkingSize } from '../known-facts.ts';
import { factsAs, factsOf } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import { withFittingIds, type IdRule } from '../translation/call-ids.ts';
import type { Conversation, Tool } from '../translation/conversation.ts';
import { budgetOf, effortOf, nearestEffort } from '../translation/effort.ts';
import { limitOf } from '../translation/limits.ts';
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
  const { checksCallSignatures: isThird, takesPrefill } = factsOf(facts);
  const turns = yield* withFittingIds(conversation.turns, anyIds);
  const { system, contents } = yield* writeContents(turns, { isThird, takesPrefill, dropped });
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
  const { stop, output } = conversation;
  const limit = limitOf(conversation, facts, dropped);
  return {
    ...samplingBy(samplingNames, conversation, { facts, dropped }),
    ...(limit !== null && { maxOutputTokens: limit }),
    ...(stop.length > 0 && { stopSequences: stop }),
    ...(output !== null && { responseMimeType: 'application/json' }),
    ...(output?.kind === 'schema' && { responseJsonSchema: new RawJson(output.schemaJson) }),
    ...thinkingIn(conversation, facts, dropped),
  };
}

/**
 * Gemini 3 takes a level, and models before it a budget. Not all models can be switched off; these get the least
 * (https://ai.google.dev/gemini-api/docs/thinking).
 */
function thinkingIn({ reasoning }: Conversation, facts: ModelFacts, dropped: DroppedFields): Fields {
  if (reasoning === null) return {};
  if (!facts.reasoning) {
    if (reasoning.isOn) dropped.ignoreField('reasoning');
    return {};
  }
  const effort = effortOf(reasoning);
  const { thinkingSize } = factsAs('gemini', facts);
  const includeThoughts = reasoning.isOn && { includeThoughts: true };
  if (thinkingSize.by === 'effort') {
    const level = effort === null ? null : nearestEffort(effort, thinkingSize.words);
    if (level !== effort) dropped.ignoreField('reasoning');
    return { thinkingConfig: { ...includeThoughts, ...(level !== null && { thinkingLevel: level }) } };
  }
  const size = effort === 'none' ? 0 : budgetOf(reasoning);
  const budget = size === null ? null : budgetWithin(size, thinkingSize);
  if (budget !== size) dropped.ignoreField('reasoning');
  return { thinkingConfig: { ...includeThoughts, ...(budget !== null && { thinkingBudget: budget }) } };
}

function budgetWithin(size: number, { off, least, most }: ThinkingSize & { by: 'budget' }): number {
  return size === 0 ? off : Math.min(Math.max(size, least), most);
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
