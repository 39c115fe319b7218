import { hash } from 'node:crypto';

/** A tool of a server, by their own names. */
export interface ToolRef {
  server: string;
  tool: string;
  /** Set for an agent: a server called `agent` may have a tool of the same name. */
  isAgent?: true;
}

/** The longest name of a function accepted by providers. */
const maxChars = 64;
const digestChars = 8;

/**
 * Names of tools for models: `<server>__<tool>` in characters accepted by providers, each at most 64 long and with `t_`
 * before a digit or hyphen, which Google refuses at the beginning. A name ends with a digest of both names if it would be cut, be too long, or become the name of another tool. So it stays the same
 * whatever other tools there are.
 */
export function modelNames(tools: readonly ToolRef[]): string[] {
  const full = tools.map(({ server, tool }) => `${server}__${tool}`.replace(/^(?=[\d-])/, 't_'));
  const plain = full.map((name) => name.replace(/[^a-zA-Z0-9_-]/g, '_'));
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return tools.map((tool, index) => {
    const name = plain[index] ?? '';
    const isOwn = name === full[index] && name.length <= maxChars;
    return isOwn && counts.get(name) === 1 ? name : withDigest(name, tool);
  });
}

function withDigest(name: string, { server, tool, isAgent }: ToolRef): string {
  const parts = isAgent === true ? ['agent', server, tool] : [server, tool];
  const digest = hash('sha256', JSON.stringify(parts)).slice(0, digestChars);
  return `${name.slice(0, maxChars - digestChars - 1)}_${digest}`;
}
