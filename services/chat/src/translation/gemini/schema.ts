import { isFields } from '@gatehouse/kit/fields';

/** Deeper than any schema is nested. */
const maxDepth = 64;

/** Google's older form of a schema as JSON Schema: its types are in capitals, and may be null by a field. */
export function asJsonSchema(schemaJson: string): string {
  if (!/"type"\s*:\s*"[A-Z]|"nullable"/.test(schemaJson)) return schemaJson;
  return JSON.stringify(converted(JSON.parse(schemaJson), 0));
}

function converted(value: unknown, depth: number): unknown {
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map((each) => converted(each, depth + 1));
  if (!isFields(value)) return value;
  const { type, nullable, ...others } = value;
  const named = typeof type === 'string' ? type.toLowerCase() : converted(type, depth + 1);
  const members = Object.entries(others).map(([name, each]) => [name, converted(each, depth + 1)]);
  return {
    ...(named !== undefined && { type: nullable === true ? [named, 'null'] : named }),
    ...(Object.fromEntries(members) as object),
  };
}
