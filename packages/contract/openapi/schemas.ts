import { z } from 'zod';
import { patternsBesideFormats } from '../src/fields.ts';
import * as errorBody from '../src/error-body.ts';
import * as mcpAuth from '../src/mcp-auth.ts';
import * as oauth from '../src/oauth.ts';
import { resources } from '../src/routes.ts';

export type JsonObject = Record<string, unknown>;

/** Modules with shapes: each exported shape becomes a component of the same name. */
const modules: readonly JsonObject[] = [...resources, errorBody, oauth, mcpAuth];

/** `createAgent` → `CreateAgent`. */
const componentName = (exported: string): string => exported.charAt(0).toUpperCase() + exported.slice(1);

/** Adds the names of exported shapes to the global registry of zod, which has their descriptions. */
function nameShapes(): void {
  for (const [exported, shape] of modules.flatMap((module) => Object.entries(module))) {
    if (!(shape instanceof z.ZodType)) continue;
    z.globalRegistry.add(shape, { ...z.globalRegistry.get(shape), id: componentName(exported) });
  }
}

/** Converts shapes to JSON Schema (draft 2020-12, as in OpenAPI 3.1). Collects exported shapes as components. */
export class Schemas {
  readonly #components = new Map<string, JsonObject>();

  constructor() {
    nameShapes();
  }

  /**
   * `input` is what a client may send, `output` what it receives. Throws when a component would differ between them.
   */
  schemaOf(shape: z.ZodType, io: 'input' | 'output'): JsonObject {
    const { $schema: _, $defs = {}, ...schema } = z.toJSONSchema(shape, { io, override: simplify });
    for (const [name, definition] of Object.entries($defs)) this.#add(name, asComponent(definition));
    return asComponent(schema);
  }

  /**
   * Converts an exported shape; throws for others, because clients generated from the document would have no name for
   * them.
   */
  named(shape: z.ZodType, io: 'input' | 'output', what: string): JsonObject {
    const schema = this.schemaOf(shape, io);
    if ('$ref' in schema) return schema;
    throw new Error(`${what} has no name: export its shape and list the module in openapi/schemas.ts`);
  }

  /** Converts a shape that is not exported, as a component with this name. */
  component(shape: z.ZodType, id: string): JsonObject {
    z.globalRegistry.add(shape, { id });
    return this.named(shape, 'output', id);
  }

  get components(): JsonObject {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(name: string, schema: JsonObject): void {
    const known = this.#components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`the shape ${name} differs between requests and responses: define one shape for each`);
    }
    this.#components.set(name, schema);
  }
}

/**
 * Removes details of no use to readers: patterns behind formats, the largest safe integer, and a union around a single
 * shape.
 */
function simplify({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { format, pattern = '' } = jsonSchema;
  if (format !== undefined && !patternsBesideFormats.has(pattern)) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  const [only, another] = jsonSchema.oneOf ?? [];
  if (only !== undefined && another === undefined) {
    delete jsonSchema.oneOf;
    Object.assign(jsonSchema, only);
  }
}

function asComponent(schema: object): JsonObject {
  const { id: _, ...rest } = JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$ref' && typeof value === 'string'
        ? value.replace('#/$defs/', '#/components/schemas/')
        : value,
    ),
  ) as JsonObject;
  return rest;
}
