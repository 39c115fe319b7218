type Schema = Record<string, unknown>;

/** Formats that limit the length of a string. */
const boundedFormats = new Set(['uuid', 'date-time', 'date']);

/** Whether a pattern limits the length of a string: it is anchored and has no unlimited repetition. */
function boundsLength(pattern: string): boolean {
  const withoutClasses = pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, 'c');
  return /^\^.*\$$/.test(pattern) && !/[*+]|\{\d*,\}/.test(withoutClasses);
}

/**
 * The paths of the parts of a JSON Schema without a stated limit: strings without a length, numbers without a maximum,
 * arrays without a number of items, maps without a number of members. `document` resolves `$ref`.
 */
export function unboundedParts(schema: Schema, document: Schema, path = ''): string[] {
  const visited = new Set<string>();
  const walk = (part: Schema, at: string): string[] => {
    const { $ref } = part as { $ref?: string };
    if ($ref !== undefined) {
      if (visited.has(`${at} ${$ref}`)) return [];
      visited.add(`${at} ${$ref}`);
      return walk(resolve($ref, document), at);
    }
    const variants = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (part[name] ?? []) as Schema[]);
    return [
      ...variants.flatMap((variant) => walk(variant, at)),
      ...unboundedText(part, at),
      ...unboundedNumber(part, at),
      ...unboundedList(part, at),
      ...unboundedMap(part, at),
    ];
  };
  const unboundedList = (part: Schema, at: string): string[] => {
    if (!isType(part, 'array')) return [];
    const items = part['items'] === undefined ? [] : walk(part['items'] as Schema, `${at}[]`);
    return [...(part['maxItems'] === undefined ? [`${at}: list`] : []), ...items];
  };
  const unboundedMap = (part: Schema, at: string): string[] => {
    if (!isType(part, 'object')) return [];
    const properties = Object.entries((part['properties'] ?? {}) as Record<string, Schema>);
    const open = part['additionalProperties'] !== false && part['maxProperties'] === undefined;
    return [
      ...(open && part['additionalProperties'] !== undefined ? [`${at}: map`] : []),
      ...properties.flatMap(([name, property]) => walk(property, `${at}.${name}`)),
    ];
  };
  return walk(schema, path);
}

function unboundedText(part: Schema, at: string): string[] {
  if (!isType(part, 'string')) return [];
  const {
    maxLength,
    enum: values,
    const: value,
    format,
    pattern,
  } = part as Record<string, string | undefined>;
  const bounded =
    maxLength !== undefined ||
    values !== undefined ||
    value !== undefined ||
    boundedFormats.has(format ?? '') ||
    boundsLength(pattern ?? '');
  return bounded ? [] : [`${at}: text`];
}

/** Above 2^53, JSON numbers and their sums are inexact. */
function unboundedNumber(part: Schema, at: string): string[] {
  if (!isType(part, 'integer') && !isType(part, 'number')) return [];
  const { maximum = Infinity, enum: values } = part as { maximum?: number; enum?: unknown };
  return values !== undefined || maximum < Number.MAX_SAFE_INTEGER ? [] : [`${at}: number`];
}

function isType(part: Schema, type: string): boolean {
  return [part['type']].flat().includes(type);
}

function resolve(reference: string, document: Schema): Schema {
  const found = reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, name) => (value as Schema | undefined)?.[name], document);
  if (found === undefined) throw new Error(`${reference} does not exist`);
  return found as Schema;
}
