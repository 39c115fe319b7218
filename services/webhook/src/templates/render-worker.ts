import { defaultOperators, Liquid, LiquidError, type Operators } from 'liquidjs';
import { parseExact } from '../shared/exact-numbers.ts';
import { cut, jsonExcerpt } from './json-excerpt.ts';
import { maxFilteredChars, maxOutputChars, maxSearchSteps, maxTemplateChars } from '../bounds.ts';

/** A template, and its JSON; null only checks the template. */
export interface Rendering {
  template: string;
  /** Whether too long an output is cut, and does not fail. */
  isCut: boolean;
  json: string | null;
  /** The name of the event, by a header; null without one. */
  eventName: string | null;
}

export type Rendered = { text: string } | { problem: string; line: number | null };

/** `memoryLimit` counts the characters and elements made by a template; a range has 8 bytes an element. */
const limits = { parseLimit: maxTemplateChars, renderLimit: 1_000, memoryLimit: 4_000_000 };

/** Throws if a filter or an operator would take too long for texts as long as these. */
function assertShort(name: string, values: readonly unknown[]): void {
  const [longest = 0, second = 1] = values
    .map((value) => (typeof value === 'string' ? value.length : 0))
    .sort((a, b) => b - a);
  if (longest > maxFilteredChars)
    throw new Error(`a text for ${name} is longer than ${maxFilteredChars} characters`);
  if (longest * second > maxSearchSteps) throw new Error(`the texts for ${name} are too long together`);
}

/** Reads two values; the library's type also allows for operators with one. */
const contains = defaultOperators['contains'] as (
  left: unknown,
  right: unknown,
) => ReturnType<Operators[string]>;

/** A template reads its payload and nothing else: no files, no prototypes. */
const engine = new Liquid({
  ...limits,
  operators: {
    ...defaultOperators,
    contains: (left: unknown, right: unknown) => {
      assertShort('contains', [left, right]);
      return contains(left, right);
    },
  },
  ownPropertyOnly: true,
  strictFilters: true,
  relativeReference: false,
  templates: {},
  timezoneOffset: 0,
});

for (const [name, filter] of Object.entries(engine.filters)) {
  const handler = typeof filter === 'function' ? filter : filter.handler;
  engine.registerFilter(name, function (this: ThisParameterType<typeof handler>, ...values: unknown[]) {
    assertShort(name, values);
    return handler.apply(this, values as Parameters<typeof handler>) as unknown;
  });
}

engine.registerFilter('json_excerpt', jsonExcerpt);

/** Runs in a sandbox. */
export function render({ template, isCut, json, eventName }: Rendering): Rendered {
  try {
    const parsed = engine.parse(template);
    if (json === null) return { text: '' };
    const payload = parseExact(json);
    const fields = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
    const text = String(engine.renderSync(parsed, { event_name: eventName, ...fields, payload }));
    if (text.length > maxOutputChars && isCut) return { text: cut(text, maxOutputChars - 1) };
    if (text.length > maxOutputChars)
      return { problem: `its output is longer than ${maxOutputChars} characters`, line: null };
    return { text };
  } catch (error) {
    if (!LiquidError.is(error)) throw error;
    const [problem = ''] = error.message.split(/, (?:line|file):?/);
    const [line] = error.token.getPosition();
    return { problem: problem.slice(0, 200), line: line ?? null };
  }
}
