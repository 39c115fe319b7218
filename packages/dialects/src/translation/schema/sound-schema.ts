import { isFields, type Fields } from '@gatehouse/kit/fields';
import { maxSchemaDepth, maxSchemaObjects } from '../../bounds.ts';

/**
 * Whether every provider takes a schema as that of a tool's arguments. Also false for unusual schemas, and for ones with
 * too many levels or objects.
 */
export function isSoundSchema(schema: Fields): boolean {
  if (schema['type'] !== 'object' || !isFields(schema['properties'])) return false;
  return !atTop.some((name) => name in schema) && new SoundCheck(schema).isSound(schema, 0);
}

/** Whether all schemas in a schema are sound, and it itself but for its being of any value. */
export function isSoundInside(schema: unknown): boolean {
  return isFields(schema) && new SoundCheck(schema).isSound(schema, 0);
}

/** Keywords refused at the top: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
const atTop = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'enum', 'const'];
const types = new Set<unknown>(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

type Kind =
  | 'schema'
  | 'schemas'
  | 'named'
  | 'text'
  | 'number'
  | 'flag'
  | 'names'
  | 'values'
  | 'types'
  | 'ref';

const kinds: Readonly<Partial<Record<string, Kind>>> = {
  ...{ type: 'types', required: 'names', enum: 'values', $ref: 'ref' },
  ...kindOf('schema', 'items not if then else contains propertyNames additionalProperties'),
  ...kindOf('schema', 'unevaluatedProperties unevaluatedItems'),
  ...kindOf('schemas', 'anyOf oneOf allOf prefixItems'),
  ...kindOf('named', 'properties patternProperties $defs definitions dependentSchemas'),
  ...kindOf('text', 'title description $comment format pattern contentEncoding contentMediaType'),
  ...kindOf('number', 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'),
  ...kindOf('number', 'minLength maxLength minItems maxItems minProperties maxProperties'),
  ...kindOf('flag', 'uniqueItems deprecated readOnly writeOnly'),
};

function kindOf(kind: Kind, names: string): Record<string, Kind> {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]));
}

class SoundCheck {
  readonly #root: Fields;
  #objects = 0;

  constructor(root: Fields) {
    this.#root = root;
  }

  isSound(schema: unknown, depth: number): boolean {
    if (typeof schema === 'boolean') return true;
    this.#objects += 1;
    if (!isFields(schema) || depth > maxSchemaDepth || this.#objects > maxSchemaObjects) return false;
    const { type, items } = schema;
    const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'));
    if (isArray && items === undefined) return false;
    for (const name in schema) {
      // An older keyword, and a name that no object takes by assignment.
      if (name === 'additionalItems' || name === '__proto__') return false;
      const kind = kinds[name];
      if (kind !== undefined && !this.#isValue(schema[name], kind, depth)) return false;
    }
    return true;
  }

  #isValue(value: unknown, kind: Kind, depth: number): boolean {
    switch (kind) {
      case 'schema':
        return this.isSound(value, depth + 1);
      case 'schemas':
        return isFilled(value) && value.every((each) => this.isSound(each, depth + 1));
      case 'named':
        return isFields(value) && this.#areSound(value, depth + 1);
      case 'text':
        return typeof value === 'string';
      case 'number':
        return typeof value === 'number';
      case 'flag':
        return typeof value === 'boolean';
      case 'types':
        return types.has(value) || (isFilled(value) && value.every((each) => types.has(each)));
      case 'names':
        return Array.isArray(value) && value.every((each) => typeof each === 'string');
      case 'values':
        return isFilled(value);
      case 'ref':
        return this.#leadsTo(value);
    }
  }

  #areSound(schemas: Fields, depth: number): boolean {
    for (const name in schemas) {
      // Servers write the list of required names, and flags of draft 3, among properties.
      const each = schemas[name];
      if (name === '__proto__' || (isFields(each) && typeof each['required'] === 'boolean')) return false;
      if (!this.isSound(each, depth)) return false;
    }
    return true;
  }

  #leadsTo(ref: unknown): boolean {
    if (ref === '#') return true;
    const [, place = '', name = ''] =
      /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(typeof ref === 'string' ? ref : '') ?? [];
    const named = this.#root[place];
    return isFields(named) && Object.hasOwn(named, name);
  }
}

function isFilled(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0;
}
