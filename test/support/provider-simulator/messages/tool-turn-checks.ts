import { RefusedRequest } from '../errors.ts';
import type { JsonObject } from '../values.ts';
import type { CheckedMessage } from './checked-message.ts';

/**
 * Checks that the calls of each turn of the assistant have their results at the beginning of the next turn, one each.
 *
 * @throws RefusedRequest (400) for calls without a result, and results without a call.
 */
export function checkToolTurns(turns: readonly CheckedMessage[]): void {
  checkUnique(turns.flatMap(({ blocks }) => idsOf(blocks, 'tool_use', 'id')));
  for (const [place, turn] of turns.entries()) {
    if (turn.role === 'assistant') checkAnswered(turn, turns[place + 1]);
    else checkExpected(turn, turns[place - 1]);
  }
}

function checkUnique(ids: string[]): void {
  if (new Set(ids).size < ids.length) throw new RefusedRequest('messages: `tool_use` ids must be unique');
}

/** Results after another block don't count as they don't come right after the calls. */
function checkAnswered(turn: CheckedMessage, next: CheckedMessage | undefined): void {
  const called = idsOf(turn.blocks, 'tool_use', 'id');
  const blocks = next?.blocks ?? [];
  const end = blocks.findIndex(({ type }) => type !== 'tool_result');
  const answered = idsOf(end === -1 ? blocks : blocks.slice(0, end), 'tool_result', 'tool_use_id');
  const missing = called.filter((id) => !answered.includes(id));
  if (missing.length > 0) {
    throw new RefusedRequest(
      `messages.${turn.index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }
  const twice = answered.find((id, index) => answered.indexOf(id) !== index);
  if (twice !== undefined) {
    throw new RefusedRequest(
      `messages.${turn.index + 1}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
    );
  }
}

function checkExpected(turn: CheckedMessage, before: CheckedMessage | undefined): void {
  const called = idsOf(before?.blocks ?? [], 'tool_use', 'id');
  for (const [place, block] of turn.blocks.entries()) {
    const id = block['tool_use_id'];
    if (block['type'] !== 'tool_result' || called.includes(String(id))) continue;
    throw new RefusedRequest(
      `messages.${turn.index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    );
  }
}

function idsOf(blocks: readonly JsonObject[], type: string, field: string): string[] {
  return blocks.filter((block) => block['type'] === type).map((block) => String(block[field]));
}
