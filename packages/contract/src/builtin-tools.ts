import { z } from 'zod';

/** Tools of the gateway for agents, by their names for models. */

/** The most characters of the result of any tool; the rest is cut. */
export const maxResultChars = 200_000;

export const webFetchArguments = z.strictObject({
  url: z.string().min(1).max(8_192).describe('The address of the page, with https'),
});

export const memorySearchArguments = z.strictObject({
  query: z.string().min(1).max(2_000).describe('What to search for, in words or as a question'),
  limit: z.int().min(1).max(20).default(5).describe('How many passages to return'),
});

const types = z.array(z.string().min(1).max(64)).max(20).default([]);

export const kgTraverseArguments = z.strictObject({
  start: z
    .array(z.string().min(1).max(255))
    .min(1)
    .max(20)
    .describe('Names or ids of the entities to begin with'),
  depth: z.int().min(1).max(3).default(2).describe('How many relations to follow, one after the other'),
  direction: z.enum(['out', 'in', 'both']).default('both'),
  relation_types: types.describe('Follows only relations of these types; empty: of all'),
  max_nodes: z.int().min(1).max(200).default(50),
});

interface BuiltinTool {
  description: string;
  arguments: z.ZodObject;
  /** Executing service. */
  executor: 'agent' | 'memory';
  /** How long a call may take. */
  timeoutMs: number;
}

export const builtinTools = {
  web_fetch: {
    description:
      'Fetches a web page and returns its readable text. It sees pages as the user does who gave cookies to this agent.',
    arguments: webFetchArguments,
    executor: 'agent',
    timeoutMs: 30_000,
  },
  memory_search: {
    description: 'Searches the memory of this agent and returns the passages that fit a query best.',
    arguments: memorySearchArguments,
    executor: 'memory',
    timeoutMs: 10_000,
  },
  kg_traverse: {
    description:
      'Returns the entities of the knowledge graph of this agent that are connected to some entities, with the relations.',
    arguments: kgTraverseArguments,
    executor: 'memory',
    timeoutMs: 10_000,
  },
} as const satisfies Record<string, BuiltinTool>;
export type BuiltinToolName = keyof typeof builtinTools;

export const builtinToolNames = Object.keys(builtinTools) as [BuiltinToolName, ...BuiltinToolName[]];

/** JSON Schema of the arguments, as models get it. */
export function schemaOf(name: BuiltinToolName): Record<string, unknown> {
  const { $schema: _version, ...schema } = z.toJSONSchema(builtinTools[name].arguments, { io: 'input' });
  return schema;
}

/** The result of a tool for unfit arguments. */
export function argumentProblem(error: z.ZodError): string {
  const problems = error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`);
  return `Not called: ${problems.slice(0, 5).join('; ')}`;
}
