import type { PlannedCall } from '../tool-calls.ts';
import { isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** A tool that the client runs. */
export interface CallableTool {
  kind: 'function' | 'custom';
  name: string;
  namespace: string | null;
  parameters: unknown;
}

/** A call before it has ids; of a custom tool, `text` is its input. */
export interface PlannedToolCall {
  tool: Omit<CallableTool, 'parameters'>;
  text: string;
}

/** The input of a custom tool as a schema, from which texts are made. */
const customInput = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

/** The functions and custom tools, with those in namespaces. Others run at the provider. */
export function callableTools(tools: JsonObject[], namespace: string | null = null): CallableTool[] {
  return tools.flatMap((tool): CallableTool[] => {
    const name = String(tool['name']);
    switch (tool['type']) {
      case 'namespace':
        return callableTools(objectsIn(tool['tools']), name);
      case 'function':
        return [{ kind: 'function', name, namespace, parameters: tool['parameters'] ?? {} }];
      case 'custom':
        return [{ kind: 'custom', name, namespace, parameters: customInput }];
      default:
        return [];
    }
  });
}

/** The name by which calls are planned: with the namespace before it, as two may have tools of one name. */
export function qualifiedName(namespace: string | null, name: string): string {
  return namespace === null ? name : `${namespace}.${name}`;
}

/** A planned call with its tool: that of this name, else the first one of a namespace, else a function. */
export function withTool(call: PlannedCall, tools: readonly CallableTool[]): PlannedToolCall {
  const tool =
    tools.find(({ namespace, name }) => qualifiedName(namespace, name) === call.name) ??
    tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    return { tool: { kind: 'function', name: call.name, namespace: null }, text: call.arguments };
  }
  return { tool, text: tool.kind === 'custom' ? inputIn(call.arguments) : call.arguments };
}

/** The text of an input that was made from its schema; others are texts already. */
function inputIn(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && typeof parsed['input'] === 'string' ? parsed['input'] : text;
  } catch {
    return text;
  }
}
