import { monotonicMs, nowMs } from '@gatehouse/kit/clock';
import { contentPartBytes } from '../bounds.ts';
import type { CalledTool } from '../runs/run.ts';
import { documentContent, objectOf, valueContent, type ContentPart } from './json-content.ts';

/** A call of a tool by the gateway, with what it got and returned. */
export interface ToolContent extends CalledTool {
  argumentsJson: string;
  result: string;
}

/**
 * The calls of tools as one part of a content. Each is written in turns of the tenant. Once there is no room for more,
 * arguments and results of further calls are left out.
 */
export async function toolsContent(calls: readonly ToolContent[], tenantId: string): Promise<ContentPart> {
  const clock = nowMs() - monotonicMs();
  const texts: string[] = [];
  let left = contentPartBytes;
  let isCut = false;
  for (const call of calls) {
    const members = membersOf(call, clock);
    left -= Buffer.byteLength(objectOf(members)) + 1;
    const parts = left > fewBytes ? await textsOf(call, tenantId, left) : leftOut;
    left -= Buffer.byteLength(parts.arguments + parts.result);
    isCut ||= parts.isCut;
    texts.push(objectOf({ ...members, arguments: parts.arguments, result: parts.result }));
  }
  return { text: `[${texts.join(',')}]`, isCut };
}

/** Too few bytes for a cut text. */
const fewBytes = 4_096;
const leftOut = { arguments: 'null', result: 'null', isCut: true };

/** Arguments and result of a call, their long texts cut if they have too many bytes otherwise. */
async function textsOf(
  { argumentsJson, result }: ToolContent,
  tenantId: string,
  maxBytes: number,
): Promise<typeof leftOut> {
  const input = await documentContent(Buffer.from(argumentsJson), tenantId, maxBytes);
  const output = await valueContent(result, tenantId, maxBytes - Buffer.byteLength(input.text));
  return { arguments: input.text, result: output.text, isCut: input.isCut || output.isCut };
}

/** `clock`: the wall clock at 0 of the monotonic one. */
function membersOf(call: ToolContent, clock: number): Record<string, string> {
  return {
    server: JSON.stringify(call.server),
    name: JSON.stringify(call.tool),
    arguments: '',
    result: '',
    is_error: String(call.outcome !== 'ok'),
    started_at: JSON.stringify(new Date(clock + call.startedAt).toISOString()),
    duration_ms: String(Math.max(0, Math.round(call.endedAt - call.startedAt))),
  };
}
