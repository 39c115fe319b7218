import { fittingId } from './call-ids.ts';
import type { Tool } from './conversation.ts';

/** A tool by the name and group that its client has for it. */
export type NamedTool = Pick<Tool, 'name' | 'namespace'>;

/** Every API takes such names; some take longer ones, or dots in them. */
const fitting = /^[\w-]{1,64}$/;
/** The characters of a name that stay before its hash. */
const keptChars = 39;

/**
 * One name for each tool, that every API takes. A group's name is put before that of its tool. A name that doesn't fit, or
 * would be that of two tools, gets a hash; those that fit as they are stay.
 */
export class FlatNames {
  readonly #names = new Map<string, string>();

  constructor(tools: Iterable<NamedTool>) {
    const named = new Map(Array.from(tools, (tool) => [keyOf(tool), tool]));
    const taken = new Set<string>();
    const joined: { key: string; name: string }[] = [];
    for (const [key, { name, namespace }] of named) {
      if (namespace === null && (fitting.test(name) || name === '')) {
        this.#names.set(key, name);
        taken.add(name);
      } else joined.push({ key, name: namespace === null ? name : `${namespace}__${name}` });
    }
    const groups = Map.groupBy(joined, ({ name }) => name);
    for (const { key, name } of joined) {
      const isAlone = groups.get(name)?.length === 1 && !taken.has(name);
      const flat = isAlone && fitting.test(name) ? name : hashed(key, name, taken);
      this.#names.set(key, flat);
      taken.add(flat);
    }
  }

  /** The name of a tool that was given to the constructor. */
  of(tool: NamedTool): string {
    return this.#names.get(keyOf(tool)) ?? tool.name;
  }
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
