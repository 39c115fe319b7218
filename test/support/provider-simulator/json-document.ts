import { isObject } from './values.ts';
import type { JsonObject } from './values.ts';

/** Below this depth optional branches are omitted, so that recursive schemas terminate. */
const deepEnough = 5;

const stringsByFormat: Record<string, string> = {
  'date-time': '2025-01-01T00:00:00Z',
  date: '2025-01-01',
  time: '00:00:00Z',
  duration: 'PT1S',
  email: 'user@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A JSON value that matches the schema: only required properties, first alternatives, smallest values. */
export function documentFor(schema: unknown): unknown {
  return new DocumentBuilder(schema).build(schema, 0);
}

class DocumentBuilder {
  readonly #root: unknown;

  constructor(root: unknown) {
    this.#root = root;
  }

  build(schema: unknown, depth: number): unknown {
    if (!isObject(schema) || depth > 4 * deepEnough) return null;
    if (typeof schema['$ref'] === 'string') return this.build(this.#resolve(schema['$ref']), depth + 1);
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return schema['enum'][0];
    const alternatives = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(alternatives)) return this.build(preferred(alternatives, depth), depth + 1);
    if (Array.isArray(schema['allOf'])) return this.#buildAll(schema, schema['allOf'], depth);
    return this.#buildType(schema, depth);
  }

  #buildType(schema: JsonObject, depth: number): unknown {
    switch (typeOf(schema, depth)) {
      case 'string':
        return exampleString(schema);
      case 'integer':
      case 'number':
        return exampleNumber(schema);
      case 'boolean':
        return true;
      case 'array':
        return this.#buildArray(schema, depth);
      case 'null':
        return null;
      default:
        return this.#buildObject(schema, depth);
    }
  }

  #buildObject(schema: JsonObject, depth: number): JsonObject {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
    return Object.fromEntries(required.map((name) => [name, this.build(properties[name] ?? {}, depth + 1)]));
  }

  #buildArray(schema: JsonObject, depth: number): unknown[] {
    const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
    const length = Math.max(least, depth < deepEnough ? 1 : 0);
    return Array.from({ length }, () => this.build(schema['items'] ?? {}, depth + 1));
  }

  #buildAll(schema: JsonObject, parts: unknown[], depth: number): unknown {
    const { allOf: _allOf, ...own } = schema;
    const built = [...parts, own].map((part) => this.build(part, depth + 1));
    return built.every(isObject) ? Object.assign({}, ...built) : built[0];
  }

  #resolve(reference: string): unknown {
    let found: unknown = this.#root;
    for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      found = isObject(found) ? found[name] : undefined;
    }
    return found;
  }
}

function preferred(alternatives: unknown[], depth: number): unknown {
  const nothing = alternatives.find((entry) => isObject(entry) && entry['type'] === 'null');
  return depth >= deepEnough && nothing !== undefined ? nothing : alternatives[0];
}

function typeOf(schema: JsonObject, depth: number): unknown {
  const type = schema['type'];
  if (!Array.isArray(type)) return type;
  return depth >= deepEnough && type.includes('null') ? 'null' : type.find((entry) => entry !== 'null');
}

function exampleString(schema: JsonObject): string {
  const example = stringsByFormat[String(schema['format'])] ?? 'example';
  const least = typeof schema['minLength'] === 'number' ? schema['minLength'] : 0;
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : Infinity;
  return example.padEnd(least, 'x').slice(0, most);
}

function exampleNumber(schema: JsonObject): number {
  const step = typeof schema['multipleOf'] === 'number' ? schema['multipleOf'] : 1;
  if (typeof schema['minimum'] === 'number') return Math.ceil(schema['minimum'] / step) * step;
  if (typeof schema['exclusiveMinimum'] === 'number') {
    return (Math.floor(schema['exclusiveMinimum'] / step) + 1) * step;
  }
  if (typeof schema['maximum'] === 'number')
    return Math.min(step, Math.floor(schema['maximum'] / step) * step);
  return step;
}
