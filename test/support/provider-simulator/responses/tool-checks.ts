import { RefusedRequest } from '../errors.ts';
import { entriesIn, isObject, objectsIn } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { flag, list, nullable, object, oneOf, text } from './field-checks.ts';
import { invalid, missing, wrongType } from './refusals.ts';
import { checkStrictSchema } from './schema-checks.ts';

/** Tools that run at the provider, or whose calls have types of their own. The simulator calls none of them. */
const otherTools = [
  ...['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11'],
  ...['file_search', 'computer', 'computer_use_preview', 'code_interpreter', 'image_generation', 'mcp'],
  ...['local_shell', 'shell', 'apply_patch', 'tool_search', 'programmatic_tool_calling'],
];

const toolType = oneOf('function', 'custom', 'namespace', ...otherTools);
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

/** @throws RefusedRequest (400) for tools of the request or of an item that OpenAI refuses. */
export function checkTools(tools: unknown, param: string): void {
  if (tools === undefined || tools === null) return;
  list(tools, param);
  const places = entriesIn(tools).map((tool, index) => checkTool(tool, `${param}[${index}]`));
  const names = places.filter((name) => name !== null);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new RefusedRequest(`Duplicate tool name: '${twice}'. Tool names must be unique.`, { param });
}

/** Returns the name of the tool; null for one without. */
function checkTool(tool: unknown, param: string): string | null {
  if (!isObject(tool)) throw wrongType(param, 'an object', tool);
  if (tool['type'] === undefined) throw missing(`${param}.type`);
  toolType(tool['type'], `${param}.type`);
  if (tool['type'] === 'function') return checkFunction(tool, param);
  if (tool['type'] === 'custom') return checkCustom(tool, param);
  if (tool['type'] === 'namespace') return checkNamespace(tool, param);
  return null;
}

function checkFunction(tool: JsonObject, param: string): string {
  // The shape of chat completions.
  const name = checkName(tool['name'], param);
  const { parameters, strict } = tool;
  nullable(text)(tool['description'] ?? null, `${param}.description`);
  nullable(flag)(strict ?? null, `${param}.strict`);
  if (parameters === undefined || parameters === null) return name;
  object(parameters, `${param}.parameters`);
  const refuse = (reason: string): RefusedRequest =>
    new RefusedRequest(`Invalid schema for function '${name}': ${reason}`, {
      param: `${param}.parameters`,
      code: 'invalid_function_parameters',
    });
  if (parameters['type'] !== 'object') {
    throw refuse(
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${String(parameters['type'])}"'.`,
    );
  }
  if (strict === true) checkStrictSchema(parameters, refuse);
  return name;
}

function checkCustom(tool: JsonObject, param: string): string {
  const { format } = tool;
  nullable(text)(tool['description'] ?? null, `${param}.description`);
  if (format !== undefined) {
    object(format, `${param}.format`);
    const { type, syntax, definition } = format;
    oneOf('text', 'grammar')(type, `${param}.format.type`);
    if (type === 'grammar') {
      oneOf('lark', 'regex')(syntax, `${param}.format.syntax`);
      text(definition, `${param}.format.definition`);
    }
  }
  return checkName(tool['name'], param);
}

function checkNamespace(tool: JsonObject, param: string): string {
  text(tool['description'], `${param}.description`);
  list(tool['tools'], `${param}.tools`);
  for (const [index, { type }] of objectsIn(tool['tools']).entries()) {
    oneOf('function', 'custom')(type, `${param}.tools[${index}].type`);
  }
  checkTools(tool['tools'], `${param}.tools`);
  return checkName(tool['name'], param);
}

function checkName(name: unknown, param: string): string {
  if (name === undefined) throw missing(`${param}.name`);
  text(name, `${param}.name`);
  if (namePattern.test(name)) return name;
  throw invalid(
    `${param}.name`,
    "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
  );
}

const words = ['none', 'auto', 'required'];

/** @throws RefusedRequest (400) for a choice that OpenAI refuses. `tools`: all of the request. */
export function checkToolChoice(choice: unknown, tools: JsonObject[]): void {
  if (choice === undefined) return;
  const param = 'tool_choice';
  if (typeof choice === 'string') {
    oneOf(...words)(choice, param);
    if (choice === 'required' && tools.length === 0) {
      throw new RefusedRequest("Tool choice 'required' must be specified with 'tools' parameter.", { param });
    }
    return;
  }
  const { type, name, mode } = isObject(choice) ? choice : {};
  oneOf('function', 'custom', 'allowed_tools', ...otherTools)(type, `${param}.type`);
  if (type === 'allowed_tools') {
    oneOf('auto', 'required')(mode, `${param}.mode`);
    list(isObject(choice) ? choice['tools'] : null, `${param}.tools`);
    return;
  }
  if (type === 'function' || type === 'custom') text(name, `${param}.name`);
  const found = tools.some((tool) => tool['type'] === type && (name === undefined || tool['name'] === name));
  if (!found)
    throw new RefusedRequest(`Tool choice '${String(name ?? type)}' not found in 'tools' parameter.`, {
      param,
    });
}
