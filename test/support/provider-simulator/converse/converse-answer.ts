import { echo, numberedWords, textPieces } from '../answer-text.ts';
import type { Fault } from '../faults.ts';
import type { ThinkingSigner } from '../messages/thinking-signer.ts';
import { scriptedCalls, type ToolChoice } from '../tool-calls.ts';
import { isObject, objectsIn, splitIntoWords } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A content block before serialization. */
export type ConverseBlock =
  | { type: 'thinking'; pieces: string[]; signature: string }
  | { type: 'text'; pieces: string[] }
  | { type: 'call'; id: string; name: string; json: string };

export interface ConverseAnswer {
  blocks: ConverseBlock[];
  stopReason: 'end_turn' | 'max_tokens' | 'tool_use';
}

/** The answer to a conversation: scripted calls, or the text of the fault or that of an echo. */
export function answerConversation(
  body: JsonObject,
  fault: Fault,
  { id, signer }: { id: string; signer: ThinkingSigner },
): ConverseAnswer {
  const thoughts = thoughtsOf(body, fault);
  const thinking: ConverseBlock[] =
    thoughts.length === 0
      ? []
      : [{ type: 'thinking', pieces: thoughts, signature: signer.sign(id, thoughts.join('')) }];
  const messages = objectsIn(body['messages']);
  const calls = (scriptedCalls(fault, choiceOf(body), roundsIn(messages)) ?? []).map(
    (call, index): ConverseBlock => ({
      ...{ type: 'call', id: `tooluse_${id}_${index}`, name: call.name, json: call.arguments },
    }),
  );
  const stopReason = fault.calls_cut === true ? 'max_tokens' : 'tool_use';
  if (calls.length > 0) return { blocks: [...thinking, ...calls], stopReason };
  const wanted = textPieces(fault, () => echo({ lastUserText: lastTextIn(messages), toolAnswers: [] }));
  const limit = fault.content === undefined ? limitOf(body) : Infinity;
  const pieces = wanted.slice(0, limit);
  const text: ConverseBlock[] = pieces.length === 0 ? [] : [{ type: 'text', pieces }];
  return { blocks: [...thinking, ...text], stopReason: wanted.length > limit ? 'max_tokens' : 'end_turn' };
}

/** Blocks of a message. */
export function blocksOf(message: JsonObject | undefined): JsonObject[] {
  return objectsIn(message?.['content']);
}

function thoughtsOf({ additionalModelRequestFields: fields }: JsonObject, fault: Fault): string[] {
  if (fault.thinking !== undefined) return numberedWords('t', fault.thinking);
  const thinking = isObject(fields) && isObject(fields['thinking']) ? fields['thinking']['type'] : undefined;
  const isOn = thinking === 'enabled' || thinking === 'adaptive';
  return isOn ? splitIntoWords('The simulator thinks about what you said.') : [];
}

function choiceOf({ toolConfig, additionalModelRequestFields: fields }: JsonObject): ToolChoice {
  const choice = isObject(toolConfig) ? toolConfig['toolChoice'] : undefined;
  const additional = isObject(fields) && isObject(fields['tool_choice']) ? fields['tool_choice'] : {};
  if (!isObject(toolConfig) || additional['type'] === 'none') return { kind: 'none' };
  if (!isObject(choice) || choice['auto'] !== undefined) return { kind: 'auto' };
  const { tool } = choice;
  return isObject(tool) ? { kind: 'named', name: String(tool['name']) } : { kind: 'required' };
}

function roundsIn(messages: readonly JsonObject[]): number {
  return messages.filter((message) => blocksOf(message).some(({ toolResult }) => toolResult !== undefined))
    .length;
}

function lastTextIn(messages: readonly JsonObject[]): string | null {
  const texts = messages
    .filter(({ role }) => role === 'user')
    .flatMap(blocksOf)
    .map(({ text }) => text);
  return texts.findLast((text) => typeof text === 'string') ?? null;
}

function limitOf({ inferenceConfig: config }: JsonObject): number {
  const limit = isObject(config) ? config['maxTokens'] : undefined;
  return typeof limit === 'number' ? limit : Infinity;
}
