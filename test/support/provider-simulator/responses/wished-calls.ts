import { namedTools, quotedCalls } from '../tool-calls.ts';
import type { FunctionTool, PlannedCall } from '../tool-calls.ts';
import type { Fault } from '../faults.ts';
import { qualifiedName } from './callable-tools.ts';
import type { ResponsesRequest } from './responses-request.ts';

/** The calls that a conversation asks for: of the tools that its text names, else of the first ones. */
export function wishedCalls(request: ResponsesRequest, fault: Fault): PlannedCall[] {
  const { toolChoice: choice, toolAnswers, tools, asked, lastUserText, maxToolCalls } = request;
  const turn = { choice, afterTools: toolAnswers.length > 0, userText: asked ? lastUserText : null };
  const candidates = namedTools(tools, turn).map(({ name, namespace, parameters }): FunctionTool => ({
    name: qualifiedName(namespace, name),
    parameters,
  }));
  return quotedCalls(candidates, turn, fault).slice(0, maxToolCalls);
}
