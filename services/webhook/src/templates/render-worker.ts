import { Liquid, LiquidError } from 'liquidjs';

/** A template, and the JSON that it reads; null only checks the template. */
export interface Rendering {
  template: string;
  json: string | null;
}

export type Rendered = { text: string } | { problem: string; line: number | null };

const maxTemplateChars = 65_536;
/** Of the prompt, in UTF-16 units. */
const maxOutputChars = 256 * 1024;
const limits = { parseLimit: maxTemplateChars, renderLimit: 1_000, memoryLimit: 20_000_000 };

/** A template reads its payload and nothing else: no files, no prototypes. */
const engine = new Liquid({
  ...limits,
  ownPropertyOnly: true,
  strictFilters: true,
  relativeReference: false,
  templates: {},
  timezoneOffset: 0,
});

/** A text that is made longer than this can't be filtered: most filters make a copy or a part for each character. */
const maxFilteredChars = 2 * 1024 * 1024;

for (const [name, filter] of Object.entries(engine.filters)) {
  const handler = typeof filter === 'function' ? filter : filter.handler;
  engine.registerFilter(name, function (this: ThisParameterType<typeof handler>, ...values: unknown[]) {
    if (values.some((value) => typeof value === 'string' && value.length > maxFilteredChars))
      throw new Error(`a text for ${name} is longer than ${maxFilteredChars} characters`);
    return handler.apply(this, values as Parameters<typeof handler>) as unknown;
  });
}

/** Runs in a worker thread. */
export function render({ template, json }: Rendering): Rendered {
  try {
    const parsed = engine.parse(template);
    if (json === null) return { text: '' };
    const payload = JSON.parse(json) as unknown;
    const fields = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
    const text = String(engine.renderSync(parsed, { ...fields, payload }));
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
