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
