import path from 'node:path';
import { AppError } from '@gatehouse/kit/errors';
import { Sandbox } from '@gatehouse/sandbox/sandbox';
import { readyTemplate } from './ready-templates.ts';
import type { Rendered, Rendering } from './render-worker.ts';

const file = path.join(import.meta.dirname, `render-worker${path.extname(import.meta.filename)}`);

/** Templates of tenants, which make prompts from payloads: Liquid texts, or names of ready-made ones. */
export class Templates {
  readonly #sandbox = new Sandbox<Rendering, Rendered>({
    ...{ file, task: 'render', processes: 2, maxHeapMiB: 128 },
    ...{ maxWaiting: 256, maxWaitingPerTenant: 32, deadlineMs: 3_000 },
  });

  async stop(): Promise<void> {
    await this.#sandbox.stop();
  }

  /** Throws a 400 for `template`, with the line, unless it can be parsed. */
  async check(tenantId: string, template: string): Promise<void> {
    const { problem, line } = problemOf(
      await this.#render(tenantId, { template, json: null, eventName: null }),
    );
    if (problem === null) return;
    throw new AppError('invalid_value', `The template can't be used${at(line)}: ${problem}.`, {
      param: 'template',
    });
  }

  /** The prompt of a payload. Throws 422 `template_failed`, with the line, also for a blank one. */
  async prompt(tenantId: string, rendering: Omit<Rendering, 'isCut'>): Promise<string> {
    const rendered = await this.#render(tenantId, rendering);
    const { problem, line } = problemOf(rendered);
    const text = 'text' in rendered ? rendered.text.trim() : '';
    if (problem === null && text !== '') return text;
    const what = problem ?? 'its output is blank';
    throw new AppError('template_failed', `The template of the endpoint failed${at(line)}: ${what}.`);
  }

  async #render(tenantId: string, rendering: Omit<Rendering, 'isCut'>): Promise<Rendered> {
    const ready = readyTemplate(rendering.template);
    try {
      // A tenant can't mend a ready-made one, and would miss the alerts that fill it.
      return await this.#sandbox.run(tenantId, {
        ...rendering,
        template: ready ?? rendering.template,
        isCut: ready !== null,
      });
    } catch (error) {
      if (error instanceof AppError) throw error;
      // The process was ended at its deadline, or ran out of memory.
      return { problem: 'it takes too much time or memory', line: null };
    }
  }
}

function problemOf(rendered: Rendered): { problem: string | null; line: number | null } {
  return 'text' in rendered ? { problem: null, line: null } : rendered;
}

function at(line: number | null): string {
  return line === null ? '' : ` at line ${line}`;
}
