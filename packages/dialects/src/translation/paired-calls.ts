import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { smallBytes } from '@gatehouse/kit/json-bytes';
import { argumentsObject } from '../tool-arguments.ts';
import { earlierResult, emptyResult, noResult } from './result-words.ts';
import type { CallPart, Part, ResultPart, TextPart, Turn } from './conversation.ts';

interface WaitingCall {
  /** The turn with the call. */
  turn: Turn;
  call: CallPart;
}

/**
 * Turns in which each call has one result, as every API wants it. Results of no call, as in a history cut at its
 * beginning, are texts of the user; calls without a result, as those of an aborted run, get one that says so, and those
 * cut by a limit of tokens are left out.
 */
export function* pairedCalls(turns: readonly Turn[]): Steps<Turn[]> {
  const waiting = new Map<string, WaitingCall>();
  const unanswered: WaitingCall[] = [];
  const paired: Turn[] = [];
  for (const { role, parts } of turns) {
    const turn: Turn = { role, parts: [] };
    for (const part of parts) {
      if (part.kind === 'call') {
        const before = waiting.get(part.id);
        if (before !== undefined) unanswered.push(before);
        // Some models number the calls of each answer from zero, or give them no ids.
        const call = before === undefined ? part : { ...part, id: `${part.id}_${unanswered.length}` };
        waiting.set(part.id, { turn, call });
        turn.parts.push(call);
      } else if (part.kind === 'result') {
        const call = waiting.get(part.callId)?.call;
        waiting.delete(part.callId);
        turn.parts.push(...(call === undefined ? textsOf(part) : [{ ...part, callId: call.id }]));
      } else turn.parts.push(part);
      yield;
    }
    paired.push(turn);
  }
  return withMissingResults(paired, [...unanswered, ...waiting.values()]);
}

function withMissingResults(turns: Turn[], calls: readonly WaitingCall[]): Turn[] {
  if (calls.length === 0) return turns;
  const cut = new Set<Part>(calls.map(({ call }) => call).filter(isCut));
  const byTurn = Map.groupBy(
    calls.filter(({ call }) => !cut.has(call)),
    ({ turn }) => turn,
  );
  return turns.flatMap((turn) => {
    const missing = byTurn.get(turn);
    const whole = { ...turn, parts: turn.parts.filter((part) => !cut.has(part)) };
    const results: Turn[] =
      missing === undefined ? [] : [{ role: 'user', parts: missing.map(({ call }) => missingResult(call)) }];
    return whole.parts.length === 0 ? results : [whole, ...results];
  });
}

/** Whether a limit of tokens may have cut a call: its arguments are no JSON. */
function isCut({ isFreeform, argumentsText }: CallPart): boolean {
  return !isFreeform && argumentsText.length <= smallBytes && argumentsObject(argumentsText) === null;
}

function missingResult({ id }: CallPart): ResultPart {
  return { kind: 'result', callId: id, parts: [{ kind: 'text', text: noResult }], isError: true };
}

function textsOf({ parts, isError }: ResultPart): Part[] {
  const intro: TextPart = { kind: 'text', text: earlierResult(isError) };
  return [intro, ...(parts.length === 0 ? [{ kind: 'text', text: emptyResult } as const] : parts)];
}
