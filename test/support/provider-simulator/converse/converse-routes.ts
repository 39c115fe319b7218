import type { Answer } from '../answer-format.ts';
import { RefusedRequest } from '../errors.ts';
import type { Fault } from '../faults.ts';
import type { Frame } from '../frame.ts';
import type { ChargedMessage } from '../messages/message-usage.ts';
import type { ThinkingSigner } from '../messages/thinking-signer.ts';
import type { Route, RouteContext } from '../route.ts';
import { argumentPieces } from '../tool-calls.ts';
import { isObject, objectsIn, splitEvenly, splitIntoWords } from '../values.ts';
import { modelBehind } from '../rules/model-name.ts';
import type { JsonObject } from '../values.ts';
import { answerConversation, blocksOf, type ConverseAnswer, type ConverseBlock } from './converse-answer.ts';
import { eventStream } from './event-frame.ts';

/** Converse of Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. */

const methodPath = /^\/model\/([^/]+)\/converse(-stream)?$/;

/** The route of a path such as `/model/any/converse`; undefined for others. */
export function converseRoute(method: string, path: string): Route | undefined {
  const [, model, streamed] = methodPath.exec(path) ?? [];
  if (method !== 'POST' || model === undefined) return undefined;
  return (context) =>
    answerConverse(context, {
      vendor: vendorOf(decodeURIComponent(model)),
      streamed: streamed !== undefined,
    });
}

/** The model that a path of this API names; null for other paths. */
export function converseModel(path: string): string | null {
  const [, model] = methodPath.exec(path) ?? [];
  return model === undefined ? null : decodeURIComponent(model);
}

interface Asked {
  vendor: Vendor;
  streamed: boolean;
}

/** Makers that don't read each other's reasoning. */
type Vendor = 'claude' | 'other';

function vendorOf(model: string): Vendor {
  return /claude/.test(modelBehind(model)) ? 'claude' : 'other';
}

function answerConverse(
  { exchange, fault, newId, signer }: RouteContext,
  { vendor, streamed }: Asked,
): Answer {
  const body = exchange.record.body;
  if (!isObject(body) || objectsIn(body['messages']).length === 0)
    throw new RefusedRequest('The messages field is required.');
  checkThinking(body, vendor, signer);
  const answer = answerConversation(body, fault, { id: newId(`${vendor}-`), signer });
  const usage = usageOf(body, answer, fault);
  return {
    ...{ id: null, usage, streamed, framing: eventStream },
    frames: () => framesOf(answer, usage, fault),
    whole: () =>
      JSON.stringify({
        output: {
          message: {
            role: 'assistant',
            content: answer.blocks.map((block) => blockOf(block, fault.calls_cut === true)),
          },
        },
        stopReason: answer.stopReason,
        ...(fault.no_usage !== true && { usage: wireUsage(usage) }),
        metrics: { latencyMs: 1 },
      }),
  };
}

/** Thinking is good for exactly its text, at models of its vendor. Claude's is good through Anthropic's API too. */
function checkThinking(body: JsonObject, vendor: Vendor, signer: ThinkingSigner): void {
  const origins = vendor === 'claude' ? ['claude-', 'msg_'] : ['other-'];
  for (const [index, message] of objectsIn(body['messages']).entries()) {
    for (const { reasoningContent: reasoning } of blocksOf(message)) {
      const thought = isObject(reasoning) ? reasoning['reasoningText'] : undefined;
      if (!isObject(thought)) continue;
      const signature = String(thought['signature']);
      const made = Buffer.from(signature, 'base64').toString();
      const isOwn = origins.some((origin) => made.startsWith(origin));
      if (!isOwn || !signer.verifies(signature, String(thought['text'])))
        throw new RefusedRequest(`messages.${index}: Invalid \`signature\` in \`thinking\` block`);
    }
  }
}

function blockOf(block: ConverseBlock, isCut: boolean): JsonObject {
  switch (block.type) {
    case 'thinking': {
      const reasoningText = { text: block.pieces.join(''), signature: block.signature };
      return { reasoningContent: { reasoningText } };
    }
    case 'text':
      return { text: block.pieces.join('') };
    case 'call':
      return {
        toolUse: {
          toolUseId: block.id,
          name: block.name,
          input: isCut ? {} : (JSON.parse(block.json) as unknown),
        },
      };
  }
}

function framesOf({ blocks, stopReason }: ConverseAnswer, usage: ChargedMessage, fault: Fault): Frame[] {
  const frame = (kind: Frame['kind'], event: string, data: JsonObject): Frame => ({
    ...{ kind, event, data: JSON.stringify(data), carriesUsage: kind === 'usage' },
  });
  return [
    frame('opening', 'messageStart', { role: 'assistant' }),
    ...blocks.flatMap((block, contentBlockIndex) => [
      ...(block.type === 'call'
        ? [
            frame('block', 'contentBlockStart', {
              contentBlockIndex,
              start: { toolUse: { toolUseId: block.id, name: block.name } },
            }),
          ]
        : []),
      ...deltasOf(block).map((delta) =>
        frame(block.type === 'thinking' ? 'block' : 'content', 'contentBlockDelta', {
          contentBlockIndex,
          delta,
        }),
      ),
      frame('block', 'contentBlockStop', { contentBlockIndex }),
    ]),
    frame('finish', 'messageStop', { stopReason }),
    ...(fault.no_usage === true
      ? []
      : [frame('usage', 'metadata', { usage: wireUsage(usage), metrics: { latencyMs: 1 } })]),
  ];
}

function deltasOf(block: ConverseBlock): JsonObject[] {
  switch (block.type) {
    case 'thinking':
      return [
        ...block.pieces.map((text) => ({ reasoningContent: { text } })),
        { reasoningContent: { signature: block.signature } },
      ];
    case 'text':
      return block.pieces.map((text) => ({ text }));
    case 'call':
      return splitEvenly(block.json, argumentPieces).map((input) => ({ toolUse: { input } }));
  }
}

/** Input is 3, and for each message 3 and a quarter of its characters; output is the number of words. */
function usageOf(body: JsonObject, { blocks }: ConverseAnswer, { usage = {} }: Fault): ChargedMessage {
  const tokens = objectsIn(body['messages']).map(
    (message) => 3 + Math.ceil(JSON.stringify(blocksOf(message)).length / 4),
  );
  const prompt = usage.prompt_tokens ?? tokens.reduce((sum, each) => sum + each, 3);
  const words = blocks.map((block) =>
    block.type === 'call' ? 1 : splitIntoWords(block.pieces.join('')).length,
  );
  const completion = usage.completion_tokens ?? words.reduce((sum, each) => sum + each, 0);
  const { cached_tokens: cached = 0, cache_write_tokens: written = 0 } = usage;
  return {
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written, cache_write_1h_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function wireUsage({
  prompt_tokens: prompt,
  completion_tokens: completion,
  ...usage
}: ChargedMessage): JsonObject {
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details;
  return {
    ...{ inputTokens: prompt - cached - written, outputTokens: completion, totalTokens: usage.total_tokens },
    ...{ cacheReadInputTokens: cached, cacheWriteInputTokens: written },
  };
}
