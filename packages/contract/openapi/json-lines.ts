import { jsonLines, type Examples } from '../src/route.ts';
import type { JsonObject } from './schemas.ts';

interface Lines {
  /** The schema of one line. */
  schema: JsonObject;
  examples: Examples;
  which: 'body' | 'response';
  maxLength?: number;
}

/** The media type of JSON lines: OpenAPI 3.1 has no schema for a sequence, so it is a text with lines of a schema. */
export function linesContent({ schema, examples, which, maxLength }: Lines): JsonObject {
  const blocks = Object.entries(examples).map(([name, { summary, [which]: lines }]) => {
    const value = (lines as readonly unknown[]).map((line) => `${JSON.stringify(line)}\n`).join('');
    return [name, { summary, value }];
  });
  return {
    schema: {
      type: 'string',
      description: 'JSON lines: each line is a JSON object of the content schema.',
      contentMediaType: jsonLines,
      contentSchema: schema,
      ...(maxLength !== undefined && { maxLength }),
    },
    examples: Object.fromEntries(blocks) as JsonObject,
  };
}
