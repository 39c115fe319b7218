import type { Fields } from '@gatehouse/kit/fields';
import type { ModelFacts } from '../translation/api.ts';
import type { Conversation, Tool, Effort } from '../translation/conversation.ts';
import { RawJson } from '../wire/json-text.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import { samplingOf } from '../anthropic-messages/request-writer.ts';
import { emptySchema } from '../anthropic-messages/tool-writer.ts';
import { framed } from '../translation/framed-turns.ts';
import { calledTools, ownTurns, splitSystem } from '../translation/ordered-turns.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { CachePoints } from '../translation/cache-points.ts';
import { pointBlocks, pointPlaces } from './cache-points.ts';
import { writeMessages } from './content-writer.ts';
import { factsOf, familyOf, originOf } from '../model-facts.ts';
import { effortOf, nearestEffort } from '../translation/effort.ts';
import { limitOf } from '../translation/limits.ts';
import { thinkingOf, withTakenChoice } from '../anthropic-messages/thinking.ts';

/**
 * See `ProviderFormat`. The model, and whether the answer is a stream, stand in the path
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html).
 */
export function* writeRequest(
  requested: Conversation,
  facts: ModelFacts,
  dropped: DroppedFields,
): Steps<object> {
  const conversation = withTakenChoice(requested, facts, dropped);
  const { output, stop } = conversation;
  // Without a limit the model's own counts.
  const limit = limitOf(conversation, facts, dropped) ?? facts.maxOutputTokens ?? Infinity;
  const turns = yield* ownTurns(conversation.turns, originOf(facts));
  const reasoning = reasoningOf({ ...conversation, turns }, { facts, limit, dropped });
  const sampling = samplingIn(conversation, { isThinking: reasoning.isThinking, facts, dropped });
  const points = new CachePoints({ ...conversation, turns }, pointPlaces(facts), dropped);
  const tools = toolsIn({ ...conversation, turns }, { facts, dropped, points });
  const split = splitSystem(turns, reasoning);
  const { system } = split;
  const takesPrefill = factsOf(facts).takesPrefill && !reasoning.isThinking;
  const frame = { beginsWithUser: true, takesPrefill, takesSystem: false };
  const messages = framed(split.messages, frame, dropped);
  const systemBlocks = system.flatMap((part) => [{ text: part.text }, ...pointBlocks(points.behind(part))]);
  const inference = {
    ...(limit !== Infinity && { maxTokens: limit }),
    ...sampling.common,
    ...(stop.length > 0 && { stopSequences: stop }),
  };
  const betas = facts.betas ?? [];
  const additional = {
    ...(betas.length > 0 && { anthropic_beta: betas }),
    ...reasoning.additional,
    ...sampling.additional,
    ...tools.additional,
  };
  const config = {
    ...(reasoning.effort !== null && { effort: reasoning.effort }),
    ...(output?.kind === 'schema' && { textFormat: formatOf(output.name, output.schemaJson) }),
  };
  const reportsSequence = stop.length > 0 && familyOf(facts) === 'claude';
  return {
    messages: writeMessages(messages, { facts, dropped, points }),
    ...(system.length > 0 && { system: systemBlocks }),
    ...(hasMembers(inference) && { inferenceConfig: inference }),
    ...(tools.config !== null && { toolConfig: tools.config }),
    ...(hasMembers(additional) && { additionalModelRequestFields: additional }),
    ...(reportsSequence && { additionalModelResponseFieldPaths: ['/stop_sequence'] }),
    ...(hasMembers(config) && { outputConfig: config }),
  };
}

function hasMembers(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** The schema is a text in the request. */
function formatOf(name: string | null, schemaJson: string): Fields {
  const named = name !== null && /^[\w-]{1,64}$/.test(name) && { name };
  return { type: 'json_schema', structure: { jsonSchema: { schema: schemaJson, ...named } } };
}

/** Parameters of all models, and those of a family in fields of its own. */
function samplingIn(
  conversation: Conversation,
  options: { isThinking: boolean; facts: ModelFacts; dropped: DroppedFields },
): { common: Fields; additional: Fields } {
  const { sampling } = conversation;
  const family = familyOf(options.facts);
  const takesTopK = family === 'claude' || family === 'nova';
  if (sampling.topK !== null && !takesTopK) options.dropped.ignoreField('topK');
  const supported = takesTopK ? sampling : { ...sampling, topK: null };
  const { temperature, top_p: topP, top_k: topK } = samplingOf({ sampling: supported }, options);
  return {
    common: { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { topP }) },
    additional:
      topK === undefined ? {} : family === 'claude' ? { top_k: topK } : { inferenceConfig: { topK } },
  };
}

/** A conversation with calls needs definitions, also where no tool may be called. */
function toolsIn(
  { tools, choice, parallel, turns }: Conversation,
  { facts, dropped, points }: { facts: ModelFacts; dropped: DroppedFields; points: CachePoints },
): { config: Fields | null; additional: Fields } {
  const called = calledTools(turns);
  const isOff = tools.length === 0 || choice === 'none';
  if (parallel === false && (isOff || familyOf(facts) !== 'claude')) dropped.ignoreField('parallel');
  if (isOff && called.length === 0) return { config: null, additional: {} };
  const isClaude = familyOf(facts) === 'claude';
  const write = (tool: Tool): Fields[] => [
    writeTool(tool, isClaude, dropped),
    ...pointBlocks(points.behindTool(tool)),
  ];
  if (isOff) {
    // Converse itself can't forbid calls: models other than Claude get a tool of no use in place of theirs.
    const known = tools.length > 0 ? tools : called;
    return isClaude
      ? { config: { tools: known.flatMap(write) }, additional: { tool_choice: { type: 'none' } } }
      : { config: { tools: write(noTool) }, additional: {} };
  }
  const forced = choiceOf(choice);
  const serial = parallel === false && isClaude;
  return {
    config: { tools: tools.flatMap(write), ...(forced !== null && { toolChoice: forced }) },
    // A type is refused as a conflict beside the type of Converse, and needed without it.
    additional: serial
      ? { tool_choice: { ...(forced === null && { type: 'auto' }), disable_parallel_tool_use: true } }
      : {},
  };
}

const noTool: Tool = {
  ...{ name: 'no_tool', namespace: null, description: 'No tool can be called now. Answer in text.' },
  ...{ schemaJson: null, isFreeform: false, isStrict: null },
};

function writeTool(
  { name, description, schemaJson, isStrict }: Tool,
  isClaude: boolean,
  dropped: DroppedFields,
): Fields {
  if (isStrict === true && !isClaude) dropped.ignoreField('strict');
  return {
    toolSpec: {
      name,
      // An empty one is refused.
      ...(description !== null && description !== '' && { description }),
      inputSchema: { json: schemaJson === null ? emptySchema : new RawJson(schemaJson) },
      ...(isStrict === true && isClaude && { strict: true }),
    },
  };
}

/** Null for the model's own choice, which not all models let be named. */
function choiceOf(choice: Conversation['choice']): Fields | null {
  if (choice === 'required') return { any: {} };
  return typeof choice === 'object' && choice !== null ? { tool: { name: choice.name } } : null;
}

interface AskedReasoning {
  /** Whether the model thinks, and takes no parameters of sampling then. */
  isThinking: boolean;
  /** Whether it gets its thoughts back. */
  keepsThoughts: boolean;
  effort: string | null;
  /** Fields of its family. */
  additional: Fields;
}

const none: AskedReasoning = { isThinking: false, keepsThoughts: false, effort: null, additional: {} };

/** How a model is asked to think, by its family. Models of others decide by themselves. */
function reasoningOf(
  conversation: Conversation,
  options: { facts: ModelFacts; limit: number; dropped: DroppedFields },
): AskedReasoning {
  const { reasoning } = conversation;
  const { facts, dropped } = options;
  const family = familyOf(facts);
  if (family === 'claude') return claudeReasoning(conversation, options);
  const others = { ...none, keepsThoughts: true };
  if (reasoning === null) return others;
  const effort = effortOf(reasoning);
  if (facts.reasoning && family === 'nova') return { ...others, additional: novaFields(effort) };
  if (facts.reasoning && (family === 'openai' || family === 'gpt-oss') && effort !== null) {
    // OpenAI's open models think always.
    const nearest = nearestEffort(effort, ['low', 'medium', 'high']);
    if (nearest !== effort) dropped.ignoreField('reasoning');
    return { ...others, additional: { reasoning_effort: nearest } };
  }
  if (reasoning.isOn) dropped.ignoreField('reasoning');
  return others;
}

/** Off is said in words to models only that think without a word. */
function claudeReasoning(
  conversation: Conversation,
  options: { facts: ModelFacts; limit: number; dropped: DroppedFields },
): AskedReasoning {
  const { thinking, effort, isThinking } = thinkingOf(conversation, options);
  const isSaid = thinking !== null && (isThinking || factsOf(options.facts).thinksByDefault);
  return { isThinking, keepsThoughts: isThinking, effort, additional: isSaid ? { thinking } : {} };
}

/** Efforts of Nova 2. `high` refuses a limit of tokens. */
function novaFields(effort: Effort | null): Fields {
  if (effort === 'none') return { reasoningConfig: { type: 'disabled' } };
  const isLow = effort === 'minimal' || effort === 'low';
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: isLow ? 'low' : 'medium' } };
}
