import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { imageType } from './media-bytes.ts';
import { claudeVersion, isClaude } from './model-name.ts';
import type { ProviderRule } from './rule.ts';

const docs = 'https://docs.aws.amazon.com/bedrock/latest';
const date = '2026-11-29';

/** Rules of Converse at Amazon Bedrock. */
export const converseRules: readonly ProviderRule[] = [
  {
    ...{ id: 'converse-order', date, check: checkOrder },
    source: `${docs}/APIReference/API_runtime_Message.html`,
  },
  {
    ...{ id: 'converse-tool-config', date, check: checkTools },
    source: `${docs}/APIReference/API_runtime_ToolConfiguration.html`,
  },
  {
    ...{ id: 'converse-blocks', date, check: checkBlocks },
    source: `${docs}/APIReference/API_runtime_ContentBlock.html`,
  },
  {
    ...{ id: 'converse-prefill', date, check: checkPrefill },
    source: 'https://github.com/strands-agents/sdk-python/issues/1694',
  },
  {
    ...{ id: 'converse-sampling', date, check: checkSampling },
    source: 'https://openrouter.ai/docs/guides/evaluate-and-optimize/model-migrations/claude-4-7',
  },
  {
    ...{ id: 'converse-thinking', date, check: checkThinking },
    source: `${docs}/userguide/claude-messages-adaptive-thinking.html`,
  },
];

function checkOrder({ messages }: JsonObject, model: string): string | null {
  const turns = objectsIn(messages);
  if (turns[0]?.['role'] !== 'user')
    return 'A conversation must start with a user message. Try again with a conversation that starts with a user message.';
  for (const [index, { role }] of turns.entries()) {
    if (role === 'system' && (claudeVersion(model) ?? 0) < 408)
      return `messages.${index}: role 'system' is not supported on this model`;
    if (index > 0 && role === turns[index - 1]?.['role'])
      return 'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.';
  }
  return null;
}

function blocksOf(turn: JsonObject | undefined): JsonObject[] {
  return objectsIn(turn?.['content']);
}

function checkTools({ messages, toolConfig }: JsonObject): string | null {
  const turns = objectsIn(messages);
  const specs = objectsIn(isObject(toolConfig) ? toolConfig['tools'] : []).map((tool) => tool['toolSpec']);
  const used = turns.some((turn) => blocksOf(turn).some(({ toolUse, toolResult }) => toolUse ?? toolResult));
  if (specs.length === 0 && used)
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.';
  for (const [index, spec] of specs.entries()) {
    const schema = isObject(spec) && isObject(spec['inputSchema']) ? spec['inputSchema']['json'] : undefined;
    if (isObject(spec) && !(isObject(schema) && schema['type'] === 'object'))
      return `The value at toolConfig.tools.${index}.toolSpec.inputSchema.json.type must be one of the following: object.`;
  }
  return checkResults(turns);
}

function idsOf(turn: JsonObject | undefined, member: string): unknown[] {
  return blocksOf(turn).flatMap((block) => (isObject(block[member]) ? [block[member]['toolUseId']] : []));
}

function checkResults(turns: readonly JsonObject[]): string | null {
  for (const [index, turn] of turns.entries()) {
    const calls = idsOf(turn, 'toolUse');
    const results = idsOf(turns[index + 1], 'toolResult');
    if (turns[index + 1] !== undefined && calls.some((id) => !results.includes(id)))
      return `Expected toolResult blocks at messages.${index + 1}.content for the following Ids: ${calls.join(', ')}`;
    const before = idsOf(turns[index - 1], 'toolUse');
    if (idsOf(turn, 'toolResult').some((id) => !before.includes(id)))
      return `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`;
  }
  return null;
}

function checkBlocks({ messages }: JsonObject): string | null {
  for (const [index, turn] of objectsIn(messages).entries()) {
    const blocks = blocksOf(turn);
    if (blocks.length === 0) return `The content field in the Message object at messages.${index} is empty.`;
    const inner = blocks.flatMap(({ toolResult }) => (isObject(toolResult) ? blocksOf(toolResult) : []));
    for (const { text, image } of [...blocks, ...inner]) {
      if (typeof text === 'string' && text.trim() === '')
        return `The text field in the ContentBlock object at messages.${index}.content is blank.`;
      if (!isObject(image) || !isObject(image['source'])) continue;
      const real = imageType(String(image['source']['bytes']));
      if (real !== undefined && real !== `image/${String(image['format'])}`)
        return `The model returned the following errors: the image appears to be a ${real} image`;
    }
  }
  return null;
}

function checkPrefill({ messages }: JsonObject, model: string): string | null {
  if (objectsIn(messages).at(-1)?.['role'] !== 'assistant' || (claudeVersion(model) ?? 0) < 406) return null;
  return 'This model does not support assistant message prefill. The conversation must end with a user message.';
}

function additionalOf({ additionalModelRequestFields: fields }: JsonObject): JsonObject {
  return isObject(fields) ? fields : {};
}

function checkSampling(body: JsonObject, model: string): string | null {
  const config = isObject(body['inferenceConfig']) ? body['inferenceConfig'] : {};
  const version = claudeVersion(model) ?? 0;
  const { temperature, topP } = config;
  const topK = additionalOf(body)['top_k'];
  if (version >= 407 && (temperature ?? topP ?? topK) !== undefined)
    return 'The model returned the following errors: sampling parameters are not supported for this model.';
  return version >= 401 && temperature !== undefined && topP !== undefined
    ? 'The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model.'
    : null;
}

function checkThinking(body: JsonObject, model: string): string | null {
  const { thinking } = additionalOf(body);
  const version = claudeVersion(model);
  if (!isObject(thinking)) return null;
  if (version === null) return 'Malformed input request: extraneous key [thinking] is not permitted';
  const { type } = thinking;
  const choice = isObject(body['toolConfig']) ? body['toolConfig']['toolChoice'] : undefined;
  const forced = isObject(choice) && (choice['any'] ?? choice['tool']) !== undefined;
  if (type === 'enabled' && version >= 407) return "thinking.type: 'enabled' is not supported on this model";
  if (type === 'enabled' && forced) return 'Thinking may not be enabled when tool_choice forces tool use.';
  if (type === 'adaptive' && version < 406) return "thinking.type: 'adaptive' is not supported on this model";
  const never = version >= 505 && isClaude(model, /opus|sonnet/);
  if (type === 'disabled' && (never || (version >= 406 && version < 500)))
    return "thinking.type: 'disabled' is not supported on this model";
  return forced && never ? 'tool_choice: a forced call is not supported on this model' : null;
}
