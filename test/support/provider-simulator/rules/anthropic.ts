import { entriesIn, isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { boundThinkingRefusal } from './bound-thinking.ts';
import { schemasIn } from './json-schemas.ts';
import { imageType } from './media-bytes.ts';
import { claudeVersion, isClaude } from './model-name.ts';
import type { ProviderRule } from './rule.ts';

const docs = 'https://platform.claude.com/docs/en';
const date = '2026-11-29';

/** Rules of Anthropic's Messages API beyond those that hold for each model. */
export const anthropicRules: readonly ProviderRule[] = [
  {
    ...{ id: 'anthropic-system-in-the-middle', date, check: checkSystemTurns },
    source: `${docs}/build-with-claude/mid-conversation-system-messages`,
  },
  {
    ...{ id: 'anthropic-image-type', date, check: checkImages },
    source: `${docs}/build-with-claude/vision`,
  },
  {
    ...{ id: 'anthropic-prefill', date, check: checkPrefill },
    source: 'https://github.com/strands-agents/sdk-python/issues/1694',
  },
  {
    ...{ id: 'anthropic-schema', date, check: checkSchemas },
    source: `${docs}/build-with-claude/structured-outputs`,
  },
  {
    ...{ id: 'anthropic-sampling', date, check: checkSampling },
    source: 'https://openrouter.ai/docs/guides/evaluate-and-optimize/model-migrations/claude-4-7',
  },
  {
    ...{ id: 'anthropic-one-sampling', date, check: checkTwoSamplings },
    source: 'https://github.com/aws-samples/sample-connector-for-bedrock/issues/87',
  },
  {
    ...{ id: 'anthropic-thinking-off', date, check: checkThinkingOff },
    source: `${docs}/models/opus-5-5/whats-new-opus-5-5`,
  },
  {
    ...{ id: 'anthropic-thinking-budget', date, check: checkThinkingBudget },
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html',
  },
  {
    ...{ id: 'anthropic-forced-call', date, check: checkForcedCall },
    source: `${docs}/models/opus-5-5/whats-new-opus-5-5`,
  },
  {
    ...{ id: 'anthropic-bound-thinking', date, check: boundThinkingRefusal },
    source: `${docs}/build-with-claude/preserved-thinking`,
  },
];

function blocksOf(message: JsonObject): JsonObject[] {
  const { content } = message;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content);
}

function checkSystemTurns({ messages }: JsonObject, model: string): string | null {
  const turns = objectsIn(messages);
  const takesThem = (claudeVersion(model) ?? 408) >= 408 && !/sonnet-5(?![-.]\d)/.test(model);
  for (const [index, { role }] of turns.entries()) {
    if (role !== 'system') continue;
    if (!takesThem) return `messages.${index}: role 'system' is not supported on this model`;
    const next = turns[index + 1];
    if (turns[index - 1]?.['role'] !== 'user' || (next !== undefined && next['role'] !== 'assistant'))
      return `messages.${index}: a system message must follow a user message, and be the last one or stand before an assistant message`;
  }
  return null;
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

function checkImages({ messages }: JsonObject): string | null {
  const blocks = objectsIn(messages).flatMap(blocksOf);
  const inner = blocks.flatMap((block) => (block['type'] === 'tool_result' ? blocksOf(block) : []));
  for (const { type, source } of [...blocks, ...inner]) {
    if (type !== 'image' || !isObject(source) || source['type'] !== 'base64') continue;
    const named = String(source['media_type']);
    if (!imageTypes.includes(named))
      return `image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
    const real = imageType(String(source['data']));
    if (real !== undefined && real !== named)
      return `image.source.base64.data: The image was specified using the ${named} media type, but the image appears to be a ${real} image`;
  }
  return null;
}

function checkPrefill({ messages }: JsonObject, model: string): string | null {
  const last = objectsIn(messages).at(-1);
  if (last?.['role'] !== 'assistant' || (claudeVersion(model) ?? 0) < 406) return null;
  return 'This model does not support assistant message prefill. The conversation must end with a user message.';
}

const refusedWords = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'maxItems', 'uniqueItems'],
];

/** Why Anthropic refuses a schema of an output or of a strict tool. */
export function anthropicSchemaRefusal(schema: unknown, at: string): string | null {
  for (const { type, additionalProperties, minItems, ...others } of schemasIn(schema)) {
    if (type === 'object' && additionalProperties !== false)
      return `${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`;
    const word = refusedWords.find((each) => others[each] !== undefined);
    if (word !== undefined) return `${at}: For '${String(type)}' type, property '${word}' is not supported`;
    if (Number(minItems) > 1)
      return `${at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported`;
  }
  return null;
}

function checkSchemas({ tools, output_config: output }: JsonObject): string | null {
  for (const [index, tool] of objectsIn(tools).entries()) {
    const at = `tools.${index}.custom.input_schema`;
    const { type, input_schema: schema, strict } = tool;
    if (type !== undefined && type !== 'custom') continue;
    if (!isObject(schema) || schema['type'] !== 'object') return `${at}.type: Field required`;
    const refusal = strict === true ? anthropicSchemaRefusal(schema, at) : null;
    if (refusal !== null) return refusal;
  }
  const format = isObject(output) ? output['format'] : undefined;
  return isObject(format) ? anthropicSchemaRefusal(format['schema'], 'output_config.format.schema') : null;
}

const samplings = ['temperature', 'top_p', 'top_k'] as const;

function checkSampling(body: JsonObject, model: string): string | null {
  if ((claudeVersion(model) ?? 0) < 407) return null;
  const name = samplings.find((each) => body[each] !== undefined);
  return name === undefined ? null : `\`${name}\` is not supported for this model.`;
}

function checkTwoSamplings(body: JsonObject, model: string): string | null {
  const version = claudeVersion(model) ?? 0;
  const both = body['temperature'] !== undefined && body['top_p'] !== undefined;
  if (version < 401 || !both) return null;
  return '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
}

function checkThinkingOff(body: JsonObject, model: string): string | null {
  const { thinking, output_config: output } = body;
  if (!isObject(thinking)) return null;
  const version = claudeVersion(model) ?? 0;
  const { type } = thinking;
  if (type === 'disabled') {
    const thinksAlways =
      (isClaude(model, /fable|mythos/) && version >= 500) || (isClaude(model, /opus/) && version >= 505);
    if (thinksAlways || (version >= 406 && version < 500) || (isClaude(model, /sonnet/) && version >= 505))
      return "thinking.type: 'disabled' is not supported on this model";
    const effort = isObject(output) ? output['effort'] : undefined;
    if (version >= 500 && (effort === 'xhigh' || effort === 'max'))
      return `thinking.type: 'disabled' is not supported with effort '${effort}'`;
  }
  if (type === 'between_tools' && !(isClaude(model, /sonnet/) && version >= 505))
    return "thinking.type: Input should be 'enabled', 'disabled' or 'adaptive'";
  return null;
}

function checkThinkingBudget({ thinking, output_config: output }: JsonObject, model: string): string | null {
  const version = claudeVersion(model);
  if (version === null) return null;
  const type = isObject(thinking) ? thinking['type'] : undefined;
  if (type === 'enabled' && version >= 407)
    return "thinking.type: 'enabled' is not supported on this model; use 'adaptive' and output_config.effort";
  if (type === 'adaptive' && version < 406) return "thinking.type: 'adaptive' is not supported on this model";
  if (type !== undefined && version < 307) return 'thinking: this model does not support thinking';
  const effort = isObject(output) ? output['effort'] : undefined;
  if (effort !== undefined && version < 405) return 'output_config.effort: not supported on this model';
  return null;
}

function checkForcedCall({ tool_choice: choice }: JsonObject, model: string): string | null {
  const version = claudeVersion(model) ?? 0;
  const type = isObject(choice) ? choice['type'] : undefined;
  if (!entriesIn(['any', 'tool']).includes(type)) return null;
  const refuses =
    (isClaude(model, /opus|sonnet/) && version >= 505) || (isClaude(model, /fable|mythos/) && version >= 501);
  return refuses ? `tool_choice: '${String(type)}' is not supported on this model` : null;
}
