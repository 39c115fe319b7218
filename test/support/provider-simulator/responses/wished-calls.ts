import { chosenCalls } from '../tool-calls.ts';
import type { FunctionTool, PlannedCall } from '../tool-calls.ts';
import type { Fault } from '../faults.ts';
import { isObject } from '../values.ts';
import { qualifiedName } from './callable-tools.ts';
import type { ResponsesRequest } from './responses-request.ts';

/** The text that made arguments have where their schema asks for nothing else. */
const madeText = 'example';

/** The calls that a conversation asks for: of the tools that its text names, else of the first ones. */
export function wishedCalls(request: ResponsesRequest, fault: Fault): PlannedCall[] {
  const { toolChoice: choice, toolAnswers, tools, asked, lastUserText, maxToolCalls } = request;
  const userText = asked ? lastUserText : null;
  const words = new Set(userText?.match(/[\w-]+/g));
  const named = tools.filter(({ name }) => words.has(name));
  const candidates = (named.length > 0 && choice.kind !== 'named' ? named : tools).map(
    ({ name, namespace, parameters }): FunctionTool => ({ name: qualifiedName(namespace, name), parameters }),
  );
  const turn = { choice, afterTools: toolAnswers.length > 0, userText };
  const [, quoted] = /`([^`]+)`/.exec(userText ?? '') ?? [];
  return chosenCalls(candidates, turn, fault)
    .slice(0, maxToolCalls)
    .map((call) => (quoted === undefined ? call : { ...call, arguments: withText(call.arguments, quoted) }));
}

/** Arguments with the text in place of made ones. */
function withText(json: string, text: string): string {
  const made: unknown = JSON.parse(json);
  if (!isObject(made)) return json;
  const entries = Object.entries(made).map(([name, value]) => [name, value === madeText ? text : value]);
  return JSON.stringify(Object.fromEntries(entries));
}
