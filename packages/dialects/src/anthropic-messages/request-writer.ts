import type { Conversation, Turn } from '../translation/conversation.ts';
import { factsOf } from '../model-facts.ts';
import type { ModelFacts } from '../translation/api.ts';
import { RawJson } from '../wire/json-text.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { framed, type Frame } from '../translation/framed-turns.ts';
import { ownTurns, splitSystem } from '../translation/ordered-turns.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { CachePoints } from '../translation/cache-points.ts';
import { limitOf } from '../translation/limits.ts';
import { pointPlaces } from './cache-points.ts';
import { blocksOf } from './content-writer.ts';
import { thinkingOf, withTakenChoice } from './thinking.ts';
import { toolsOf } from './tool-writer.ts';

/** For models without one in their catalogue entry: the API requires one, and all but its oldest models take this. */
const otherwiseTokens = 8_192;

/** See `ProviderFormat`. */
export function* writeRequest(
  requested: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const conversation = withTakenChoice(requested, facts, dropped);
  const { output, stop, stream } = conversation;
  const limit = limitOf(conversation, facts, dropped) ?? facts.maxOutputTokens ?? otherwiseTokens;
  const turns = yield* ownTurns(conversation.turns, 'anthropic');
  const options = { facts, limit, dropped };
  const { thinking, effort, isThinking } = thinkingOf({ ...conversation, turns }, options);
  const split = splitSystem(turns, { keepsThoughts: isThinking });
  const { system } = split;
  const messages = framed(split.messages, frameOf(facts, isThinking), dropped);
  const points = new CachePoints({ ...conversation, turns }, pointPlaces(facts), dropped);
  const tools = toolsOf(conversation, points, dropped);
  const format = output?.kind === 'schema' && { type: 'json_schema', schema: new RawJson(output.schemaJson) };
  return {
    model: facts.name,
    max_tokens: limit,
    ...(system.length > 0 && { system: system.flatMap((part) => blocksOf(part, points, dropped)) }),
    messages: messages.map((turn) => messageOf(turn, points, dropped)),
    ...(thinking !== null && { thinking }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...samplingOf(conversation, { isThinking, facts, dropped }),
    ...tools,
    ...((format || effort !== null) && {
      output_config: { ...(effort !== null && { effort }), ...(format && { format }) },
    }),
    ...(stream && { stream }),
  };
}

/** Whether system texts may stand in the middle: so only Anthropic's own API says without doubt. */
export function takesSystemInMiddle(facts: ModelFacts): boolean {
  return facts.isAtVendor === true && factsOf(facts).takesSystemInMiddle;
}

/** A model that thinks does not go on from the beginning of an answer. */
function frameOf(facts: ModelFacts, isThinking: boolean): Frame {
  return {
    beginsWithUser: false,
    takesPrefill: factsOf(facts).takesPrefill && !isThinking,
    takesSystem: takesSystemInMiddle(facts),
  };
}

function messageOf({ role, parts }: Turn, points: CachePoints, dropped: DroppedFields): object {
  return { role, content: parts.flatMap((part) => blocksOf(part, points, dropped)) };
}

/** Parameters of sampling by Anthropic's names. */
export function samplingOf(
  { sampling }: Pick<Conversation, 'sampling'>,
  { isThinking, facts, dropped }: { isThinking: boolean; facts: ModelFacts; dropped: DroppedFields },
): { temperature?: number; top_p?: number; top_k?: number } {
  const { temperature, topP, topK, ...others } = sampling;
  for (const name of ['seed', 'presencePenalty', 'frequencyPenalty'] as const)
    if (others[name] !== null) dropped.ignoreField(name);
  const taken = factsOf(facts).sampling !== 'none' && !isThinking;
  // OpenAI takes up to 2.
  if (temperature !== null && temperature > 1) dropped.ignoreField('temperature');
  const isTaken = { temperature: taken, topP: taken && temperature === null, topK: taken };
  if (temperature !== null && !isTaken.temperature) dropped.ignoreField('temperature');
  if (topP !== null && !isTaken.topP) dropped.ignoreField('topP');
  if (topK !== null && !isTaken.topK) dropped.ignoreField('topK');
  return {
    ...(temperature !== null && isTaken.temperature && { temperature: Math.min(1, temperature) }),
    ...(topP !== null && isTaken.topP && { top_p: topP }),
    ...(topK !== null && isTaken.topK && { top_k: topK }),
  };
}
