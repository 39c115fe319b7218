import { fittingId } from './call-ids.ts';
import type { Tool } from './conversation.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';

/** A tool by the name and group that its client has for it. */
export type NamedTool = Pick<Tool, 'name' | 'namespace'>;

/** Every API takes such names; some take longer ones, or dots in them. */
const fitting = /^[\w-]{1,64}$/;
/** The characters of a name that stay before its hash. */
const keptChars = 39;

export interface FlatNames {
  /** The name of a tool that is among those given. */
  nameOf: (tool: NamedTool) => string;
}

/**
 * One name for each tool, that every API takes. A group's name is put before that of its tool. A name that doesn't fit, or
 * would be that of two tools, gets a hash; those that fit as they are stay.
 */
export function* flatNames(tools: Iterable<NamedTool>): Steps<FlatNames> {
  const names = new Map<string, string>();
  const joined = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const tool of tools) {
    const { name, namespace } = tool;
    const key = keyOf(tool);
    if (namespace === null && (fitting.test(name) || name === '')) names.set(key, name);
    else if (!joined.has(key)) {
      const flat = namespace === null ? name : `${namespace}__${name}`;
      joined.set(key, flat);
      counts.set(flat, (counts.get(flat) ?? 0) + 1);
    }
    yield;
  }
  const taken = new Set(names.values());
  for (const [key, name] of joined) {
    const isAlone = counts.get(name) === 1 && !taken.has(name);
    const flat = isAlone && fitting.test(name) ? name : hashed(key, name, taken);
    names.set(key, flat);
    taken.add(flat);
    yield;
  }
  return { nameOf: (tool) => names.get(keyOf(tool)) ?? tool.name };
}

function keyOf({ name, namespace }: NamedTool): string {
  return JSON.stringify([namespace, name]);
}

/** The same for each request of a conversation. */
function hashed(key: string, name: string, taken: ReadonlySet<string>): string {
  const prefix = `${name.slice(0, keptChars).replaceAll(/[^\w-]/g, '_')}_`;
  const rule = { fits: () => false, prefix };
  let again = 0;
  while (taken.has(fittingId(key, rule, again))) again += 1;
  return fittingId(key, rule, again);
}
