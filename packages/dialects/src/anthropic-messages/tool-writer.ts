import type { Conversation, Tool } from '../translation/conversation.ts';
import { RawJson } from '../wire/json-text.ts';
import { cacheControl } from './content-writer.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import type { CachePoints } from '../translation/cache-points.ts';
import { calledTools } from '../translation/ordered-turns.ts';

export const emptySchema = new RawJson('{"type":"object","properties":{}}');

/** Members of a request for tools and the choice between them. */
export function toolsOf(
  { tools, choice, parallel, turns }: Conversation,
  points: CachePoints,
  dropped: DroppedFields,
): object {
  if (tools.length === 0) {
    const called = calledTools(turns);
    return called.length === 0
      ? {}
      : { tools: called.map((tool) => writeTool(tool, points)), tool_choice: { type: 'none' } };
  }
  const serial = parallel === false && choice !== 'none' && { disable_parallel_tool_use: true };
  const type = choice ?? (serial ? 'auto' : null);
  if (parallel === false && !serial) dropped.ignoreField('parallel');
  return {
    tools: tools.map((tool) => writeTool(tool, points)),
    ...(type !== null && { tool_choice: { ...choiceOf(type), ...serial } }),
  };
}

function writeTool(tool: Tool, points: CachePoints): object {
  const { name, description, schemaJson, isStrict } = tool;
  return {
    name,
    ...(description !== null && { description }),
    input_schema: schemaJson === null ? emptySchema : new RawJson(schemaJson),
    ...(isStrict === true && { strict: true }),
    ...cacheControl(points.behindTool(tool)),
  };
}

function choiceOf(choice: NonNullable<Conversation['choice']>): object {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  return choice === 'required' ? { type: 'any' } : { type: 'tool', name: choice.name };
}
