import type { Fault } from './faults.ts';
import { documentFor } from './json-document.ts';
import { isObject } from './values.ts';

export interface FunctionTool {
  name: string;
  /** The JSON schema of the arguments. */
  parameters: unknown;
}

export type ToolChoice = { kind: 'none' | 'auto' | 'required' } | { kind: 'named'; name: string };

/** A call before it has an id; the arguments are a JSON text, unless a fault breaks them. */
export interface PlannedCall {
  name: string;
  arguments: string;
}

/** The state of the conversation that decides about tools. */
export interface ToolTurn {
  choice: ToolChoice;
  /** Whether the last message holds the results of tools. */
  afterTools: boolean;
  /** The last message, if it is the user's. */
  userText: string | null;
}

/** Number of pieces in which the arguments of a call are streamed. */
export const argumentPieces = 4;

/** The calls that a fault asks for; null if it asks for none, or once tools have answered often enough. */
export function scriptedCalls(fault: Fault, choice: ToolChoice, toolRounds: number): PlannedCall[] | null {
  if (fault.tool_calls === undefined || choice.kind === 'none') return null;
  if (toolRounds >= (fault.tool_rounds ?? 1)) return null;
  return fault.tool_calls.map((call) => ({
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }));
}

/** The calls of tools that the conversation asks for, with arguments that fit their schemas. */
export function chosenCalls(tools: FunctionTool[], turn: ToolTurn, fault: Fault): PlannedCall[] {
  const textWanted = fault.content ?? fault.chunks ?? fault.huge_chunk_bytes;
  if (textWanted !== undefined) return [];
  return toolsToCall(tools, turn).map((tool) => ({
    name: tool.name,
    arguments: JSON.stringify(documentFor(tool.parameters) ?? {}),
  }));
}

/** The tools that the user's text names, else all of them. */
export function namedTools<Tool extends { name: string }>(tools: Tool[], turn: ToolTurn): Tool[] {
  const words = new Set(turn.userText?.match(/[\w-]+/g));
  const named = tools.filter(({ name }) => words.has(name));
  return named.length > 0 && turn.choice.kind !== 'named' ? named : tools;
}

/** As `chosenCalls`, with the user's text between backticks in place of made texts. */
export function quotedCalls(tools: FunctionTool[], turn: ToolTurn, fault: Fault): PlannedCall[] {
  const [, quoted] = /`([^`]+)`/.exec(turn.userText ?? '') ?? [];
  const calls = chosenCalls(tools, turn, fault);
  return quoted === undefined
    ? calls
    : calls.map((call) => ({ ...call, arguments: withText(call.arguments, quoted) }));
}

/** The text that made arguments have where their schema asks for nothing else. */
const madeText = 'example';

/** Arguments with the text in place of made ones. */
function withText(json: string, text: string): string {
  const made: unknown = JSON.parse(json);
  if (!isObject(made)) return json;
  const entries = Object.entries(made).map(([name, value]) => [name, value === madeText ? text : value]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** Calls a tool if the last message contains "tool" or if the request requires it. */
function toolsToCall(tools: FunctionTool[], { choice, afterTools, userText }: ToolTurn): FunctionTool[] {
  if (tools.length === 0 || afterTools) return [];
  switch (choice.kind) {
    case 'none':
      return [];
    case 'named':
      return tools.filter((tool) => tool.name === choice.name).slice(0, 1);
    case 'required':
      return tools;
    case 'auto':
      return /tool|function/i.test(userText ?? '') ? tools : [];
  }
}
